import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countFrames, fillCells, layCells, stretchAt } from '../../assets/js/pages/sessions/coverage_layout.js';

const stretch = (from, to, status, more = {}) => ({ frameRange: [from, to], status, ...more });

test('every frame has a cell, and no map is taller than allowed', () => {
  for (const total of [1, 7, 1000, 123_457, 10_000_000]) {
    const { columns, rows, perCell, cells } = layCells(total, { width: 640, cell: 10, rowsMax: 20 });
    assert.ok(rows <= 20 && cells <= columns * rows && cells * perCell >= total, `${total}`);
  }
});

test('S16: cells show the standing that needs attention first, replays and drops', () => {
  const session = {
    total: 40, replays: [{ frameRange: [10, 12] }], drops: [{ frameRange: [0, 10], droppedFrames: 3 }],
    coverage: [stretch(0, 15, 'completed'), stretch(15, 20, 'lost'), stretch(20, 30, 'assigned', { processedFrames: 10 })],
  };
  const cells = fillCells(session, { perCell: 10, cells: 4 });
  assert.deepEqual(cells.map(({ standing, replayed, dropped }) => [standing, replayed, dropped]),
    [['completed', false, 3], ['lost', true, 0], ['running', false, 0], ['pending', false, 0]]);
  assert.deepEqual(countFrames(session), { counts: { completed: 15, lost: 5, assigned: 10, pending: 10 }, replayed: 1, dropped: 3 });
});

test('a frame is found in its stretch', () => {
  const coverage = [stretch(0, 5, 'completed'), stretch(5, 9, 'pending')];
  assert.equal(stretchAt(coverage, 5), coverage[1]);
  assert.equal(stretchAt(coverage, 9), undefined);
});

test('S26b: a cell with a failed frame is failed, whatever else it holds, and failed frames are counted', () => {
  const session = {
    total: 40, replays: [], drops: [], failedFrames: [[3, 4], [18, 20]],
    coverage: [stretch(0, 3, 'completed'), stretch(3, 4, 'failed'), stretch(4, 15, 'completed'), stretch(15, 18, 'lost'), stretch(18, 20, 'failed'), stretch(20, 40, 'completed')],
  };
  assert.deepEqual(fillCells(session, { perCell: 10, cells: 4 }).map(({ standing }) => standing), ['failed', 'failed', 'completed', 'completed']);
  assert.deepEqual(countFrames(session).counts, { completed: 34, failed: 3, lost: 3 });
});

test('S26b: failed frames beyond the part of the map that the server tells are shown all the same', () => {
  const session = { total: 40, replays: [], drops: [], failedFrames: [[9, 11], [35, 36]], coverage: [stretch(0, 9, 'completed'), stretch(9, 10, 'failed')] };
  assert.deepEqual(fillCells(session, { perCell: 10, cells: 4 }).map(({ standing }) => standing), ['failed', 'failed', 'pending', 'failed']);
  assert.deepEqual(countFrames(session).counts, { completed: 9, failed: 3, pending: 28 });
});
