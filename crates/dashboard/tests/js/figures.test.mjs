// What the overview counts is counted once, and in the right ten seconds.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Figures, roundUp } from '../../assets/js/pages/overview/figures.js';

const FROM = 1_000_000;
const zeros = () => new Array(60).fill(0);

function figures(throughput = {}) {
  const counted = new Figures();
  counted.takeSnapshot({ seq: 10, throughput: { bucket_ms: 10000, from: FROM, tasks_ok: zeros(), tasks_failed: zeros(), frames: zeros(), jobs_ok: zeros(), jobs_failed: zeros(), ...throughput } });
  return counted;
}

const ended = (seq, at, outcome = 'succeeded') => ({ seq, kind: 'attempt_ended', body: { at, outcome } });

test('an entry counts once, and not if the snapshot has it', () => {
  const counted = figures();
  counted.apply(ended(10, FROM));
  counted.apply(ended(11, FROM + 25000));
  counted.apply(ended(11, FROM + 25000));
  counted.apply(ended(12, FROM + 29999, 'lease_lost'));
  counted.apply(ended(13, FROM + 29999, 'cancelled'));
  counted.apply({ seq: 14, kind: 'task_ended', body: { at: FROM + 29999, status: 'completed' } });
  assert.equal(counted.series.tasks_ok[2], 1);
  assert.equal(counted.series.tasks_failed[2], 1);
  assert.equal(counted.total('tasks_ok') + counted.total('tasks_failed'), 2);
});

test('frames and jobs count by how many an entry tells of', () => {
  const counted = figures();
  counted.apply({ seq: 11, kind: 'range_completed', body: { at: FROM, frameRange: [50, 100] } });
  counted.apply({ seq: 12, kind: 'pool_jobs_ended', body: { at: FROM, completed: [1, 2], cancelled: [3] } });
  counted.apply({ seq: 13, kind: 'pool_jobs_ended', body: { at: FROM, failed: [4] } });
  assert.deepEqual(['frames', 'jobs_ok', 'jobs_failed'].map((name) => counted.total(name)), [50, 2, 1]);
});

test('time passes without entries, also after a long sleep', () => {
  const counted = figures({ tasks_ok: zeros().fill(7) });
  counted.advance(FROM + 605000);
  assert.equal(counted.total('tasks_ok'), 59 * 7);
  counted.advance(FROM + 10 ** 9);
  assert.equal(counted.total('tasks_ok'), 0);
  assert.equal(counted.series.tasks_ok.length, 60);
});

test('a minute is a minute wherever in a bucket it is asked', () => {
  const counted = figures({ tasks_ok: zeros().fill(10) });
  assert.equal(counted.perMinute(['tasks_ok'], FROM + 599999.999).toFixed(1), '60.0');
  counted.series.tasks_ok[59] = 5;
  assert.equal(counted.perMinute(['tasks_ok'], FROM + 595000), 60);
});

test('entries that came while the snapshot was asked for are not lost', () => {
  const counted = figures();
  counted.takeSnapshot({ seq: 20, throughput: { bucket_ms: 10000, from: FROM, tasks_ok: zeros(), tasks_failed: zeros(), frames: zeros(), jobs_ok: zeros(), jobs_failed: zeros() } }, [ended(19, FROM), ended(21, FROM)]);
  assert.equal(counted.total('tasks_ok'), 1);
});

test('what the throughput has counted is not counted again, though the snapshot began before', () => {
  const counted = figures({ seq: 15 });
  counted.apply(ended(12, FROM));
  counted.apply(ended(15, FROM));
  assert.equal(counted.total('tasks_ok'), 0);
  counted.apply(ended(16, FROM));
  assert.equal(counted.total('tasks_ok'), 1);
});

test('axes end at round numbers', () => {
  assert.deepEqual([0, 5, 6, 11, 130, 240, 999, 1000].map(roundUp), [5, 5, 10, 20, 200, 250, 1000, 1000]);
});
