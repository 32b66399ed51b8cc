// Alerts stand worst first, and what a viewer put away stays away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAway, sortOut, withAway } from '../../assets/js/pages/overview/away.js';

const alert = (id, kind, at) => ({ id, kind, at });
const ALERTS = [alert('a', 'summary_mismatch', 9), alert('b', 'mass_dropout', 1), alert('c', 'of_tomorrow', 5), alert('d', 'mass_dropout', 4)];
const ids = ({ seen }) => seen.map(({ id }) => id).join('');

test('the worst stand first, of those the newest', () => {
  assert.equal(ids(sortOut(ALERTS, [])), 'dbca');
});

test('what was put away is counted, and only that of what there is', () => {
  const found = sortOut(ALERTS, ['d', 'gone']);
  assert.equal(ids(found), 'bca');
  assert.equal(found.away, 1);
});

test('what is kept is read carefully, and does not grow for ever', () => {
  for (const text of [null, '', '{', '{"a":1}', '7']) assert.deepEqual(readAway(text), []);
  assert.deepEqual(readAway('["a", 7, "b"]'), ['a', 'b']);
  assert.deepEqual(withAway(['a', 'b'], 'a'), ['b', 'a']);
  assert.equal(withAway(Array.from({ length: 500 }, (_, n) => `${n}`), 'x').length, 500);
});
