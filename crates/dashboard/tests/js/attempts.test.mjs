// Attempts that ended without a result are told, with their end and why.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { endedAttempts } from '../../assets/js/pages/sessions/attempts.js';

const task = (attempt, more = {}) => ({ taskId: 's.0', frameRange: [0, 50], attempt, createdAt: 100, grantedAt: 900, ...more });
const chunk = (attempt, at, more = {}) => ({ taskId: 's.0', workerId: `W${attempt}`, attempt, at, reason: 'worker_lost', ...more });
const told = (found) => found.map(({ workerId, attempt, from, to, reason }) => [workerId, attempt, from, to, reason]);

test('a lost attempt stands where its worker had it, whoever has the range now', () => {
  assert.deepEqual(told(endedAttempts([task(2)], [chunk(1, 400)])), [['W1', 1, 100, 400, 'worker_lost']]);
});

test('the last attempt began when the range was last given out; of those in between the end alone is known', () => {
  assert.deepEqual(told(endedAttempts([task(3)], [chunk(1, 400), chunk(2, 700, { reason: 'stalled' }), chunk(3, 950)])),
    [['W1', 1, 100, 400, 'worker_lost'], ['W2', 2, 700, 700, 'stalled'], ['W3', 3, 900, 950, 'worker_lost']]);
});

test('several grants of one attempt are one; ids of ranges that are not shown are none', () => {
  assert.equal(endedAttempts([task(1)], [chunk(1, 950), chunk(1, 950)]).length, 1);
  assert.deepEqual(endedAttempts([], [chunk(1, 950)]), []);
});

test('a server that does not say when a range was cut tells of the end', () => {
  assert.deepEqual(told(endedAttempts([task(2, { createdAt: undefined })], [chunk(1, 400)])), [['W1', 1, 400, 400, 'worker_lost']]);
});
