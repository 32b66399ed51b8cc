// Bulk actions say how many they mean: what failed is counted by reason.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { groupBy, sumUp } from '../../assets/js/parts/reasons.js';

test('failures of several runs are counted by reason, the most frequent first', () => {
  const byRun = [
    { id: 'a', failures: [{ error: 'login_failed', count: 30 }, { error: 'timeout', count: 2 }] },
    { id: 'b', failures: [{ error: 'login_failed', count: 7 }, { error: 'crash', count: 9 }] },
  ];
  assert.deepEqual(sumUp(byRun), [['login_failed', 37], ['crash', 9], ['timeout', 2]]);
  assert.deepEqual(sumUp([]), []);
});

test('things are grouped by reason, the largest group first', () => {
  const groups = groupBy([1, 2, 3, 4, 5], (number) => (number % 3 ? 'rest' : 'third'));
  assert.deepEqual(groups, [['rest', [1, 2, 4, 5]], ['third', [3]]]);
});
