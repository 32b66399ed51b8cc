// What is exported is read back as it was, and calculates nothing.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { csv } from '../../assets/js/csv.js';

test('commas, quotes and line breaks are quoted', () => {
  assert.equal(csv([['a', 'b'], ['x,y', 'say "hi"\nagain']]), 'a,b\r\n"x,y","say ""hi""\nagain"\r\n');
});

test('nothing begins like a formula', () => {
  assert.equal(csv([['=1+1', '@x', '-2', null]]), "'=1+1,'@x,'-2,\r\n");
});
