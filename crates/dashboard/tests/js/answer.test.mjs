// Answers name what blocks, and the way back to what was asked first stays known.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockers, countOf, isMoment, readTrail, remarkOf, trailQuery } from '../../assets/js/pages/why/answer.js';

test('what an answer names can be asked further, the thing itself not', () => {
  const answer = { kind: 'device', id: 'sim-1', data: { device_id: 'sim-1', task_device_id: 'r.1', node_id: 'PC-01', running: 3, job_id: 7, run_id: null } };
  assert.deepEqual(blockers(answer), [{ kind: 'task_device', id: 'r.1' }, { kind: 'node', id: 'PC-01' }, { kind: 'job', id: '7' }]);
});

test('the telling number decides about plurals', () => {
  assert.equal(countOf({ running: 5, ahead: 1 }), 1);
  assert.equal(countOf({ running: 5, slots: 9 }), 5);
  assert.equal(countOf({ region: 'mars' }), undefined);
});

test('a remark is added once', () => {
  assert.equal(remarkOf({ reason: 'smoke' }, []), 'smoke');
  assert.equal(remarkOf({ reason: 'smoke' }, ['reason']), undefined);
});

test('the trail goes through the address, ids with colons included, and stays short', () => {
  const trail = [{ kind: 'run', id: 'a:b/c' }];
  const query = new URLSearchParams(trailQuery(trail, { kind: 'node', id: 'PC 1' }));
  assert.deepEqual(readTrail(query), [{ kind: 'run', id: 'a:b/c' }, { kind: 'node', id: 'PC 1' }]);
  assert.equal(readTrail(new URLSearchParams(Array.from({ length: 50 }, () => ['via', 'run:x']))).length, 6);
});

test('N8c, S8, S26b: what the newest causes refer to is known', () => {
  assert.ok(['since', 'until', 'heartbeat_late_since'].every(isMoment));
  assert.equal(countOf({ workers: 2 }), 2);
  assert.deepEqual(blockers({ kind: 'range', id: 's.0', data: { worker_id: 'W1', attempt: 2, until: 9 } }), [{ kind: 'worker', id: 'W1' }]);
});
