// Alerts stand worst first, name what they are about, and what a viewer put away stays away.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isAboutWorker, subjectOf } from '../../assets/js/pages/overview/alert_subject.js';
import { readAway, sortOut, withAway } from '../../assets/js/pages/overview/away.js';
import en from '../../assets/text/en.js';

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

test('S6, S23b: an alert of the simulation leads to its worker, one about missing frames to the session', () => {
  assert.deepEqual(subjectOf({ kind: 'heartbeat_late', pc_id: 'PC-01', message: 'x' }), { kind: 'node', id: 'PC-01' });
  assert.deepEqual(subjectOf({ kind: 'event_conflict', pc_id: 'PC-01', message: 'x' }), { kind: 'node', id: 'PC-01' });
  assert.deepEqual(subjectOf({ kind: 'worker_zombie', pc_id: 'W1', message: 'session s1 is not meant' }), { kind: 'worker', id: 'W1' });
  const message = 'session shot_010 was completed without some of its frames: 1 frame missing';
  assert.deepEqual(subjectOf({ kind: 'frames_skipped', pc_id: 'W1', message }), { kind: 'session', id: 'shot_010' });
  assert.deepEqual(subjectOf({ kind: 'frames_skipped', pc_id: 'W1', message: 'other words' }), { kind: 'worker', id: 'W1' });
  assert.deepEqual(['worker_zombie', 'mass_dropout', undefined].map(isAboutWorker), [true, false, false]);
});

test('N8c, S6, S23b: every kind of alert has a text', () => {
  const kinds = ['mass_dropout', 'summary_mismatch', 'chunkIntegrity', 'device_contested', 'event_conflict', 'heartbeat_late', 'worker_zombie', 'frames_skipped'];
  assert.deepEqual(Object.keys(en.overview).filter((key) => key.startsWith('alert_')).toSorted(), kinds.map((kind) => `alert_${kind}`).toSorted());
});
