import assert from 'node:assert/strict';
import { test } from 'node:test';
import { layGantt } from '../../assets/js/parts/gantt_layout.js';

test('bars stand where their moments are', () => {
  const { bars, from, to } = layGantt([{ row: 'a', from: 1000, to: 2000 }, { row: 'b', from: 2000, to: null }], { width: 100, now: 3000 });
  assert.deepEqual([from, to], [1000, 3000]);
  assert.deepEqual(bars.map(({ x, width, line }) => [x, width, line]), [[0, 50, 0], [50, 50, 1]]);
});

test('bars of one row that overlap get lines of their own', () => {
  const at = (from, to) => ({ row: 'w', from, to });
  const { bars, lines } = layGantt([at(0, 10), at(5, 15), at(10, 20), { row: 'x', from: 0, to: 20 }], { width: 100, now: 0 });
  assert.deepEqual(bars.map(({ line }) => line), [0, 1, 0, 2]);
  assert.deepEqual(lines, { w: 2, x: 1 });
});

test('ticks are far enough apart, at round spans', () => {
  for (const length of [1, 37, 4_500, 86_400_000, 30 * 86_400_000]) {
    const { ticks } = layGantt([{ row: 'a', from: 0, to: length }], { width: 800, now: 0 });
    assert.ok(ticks.length >= 1 && ticks.length <= 10, `${length}: ${ticks.length}`);
  }
});

test('a bar too short to be seen is seen, and nothing is a chart of nothing', () => {
  assert.equal(layGantt([{ row: 'a', from: 0, to: 0 }, { row: 'a', from: 0, to: 1e6 }], { width: 100, now: 0 }).bars[0].width, 2);
  assert.deepEqual(layGantt([], { width: 100, now: 0 }).bars, []);
});
