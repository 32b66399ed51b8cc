// Where the focus goes when a page has been opened.

import assert from 'node:assert/strict';
import test from 'node:test';
import { focusHeading } from '../../assets/js/heading.js';

function opened(active, { aborted = false } = {}) {
  let isFocused = false;
  const main = { name: 'main', contains: (element) => element === main || element?.place === 'main', querySelector: () => ({ focus: () => { isFocused = true; } }), matches: () => false };
  globalThis.document = { activeElement: active === 'main' ? main : active };
  focusHeading(main, { aborted });
  return isFocused;
}

const element = (place, isField = false) => ({ place, matches: () => isField });

test('a page that was opened is told of', () => {
  assert.ok(opened(element('body')));
  assert.ok(opened(element('menu')));
  assert.ok(opened('main'), 'the link that skips the menu leads here');
  assert.ok(opened(null));
});

test('whoever types, or went on into the page, is left alone', () => {
  assert.ok(!opened(element('menu', true)));
  assert.ok(!opened(element('main')));
  assert.ok(!opened(element('main', true)));
  assert.ok(!opened(element('body'), { aborted: true }), 'it was left before it was there');
});
