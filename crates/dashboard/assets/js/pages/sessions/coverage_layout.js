// Which cell of the coverage map shows which frames, and as what. Pure: no page, no clock.

/** What a frame can be, the one that a mixed cell shows first. */
export const STANDINGS = ['failed', 'lost', 'running', 'assigned', 'pending', 'cancelled', 'completed'];

/** How many cells a session gets in a width: `{columns, rows, perCell, cells}`. */
export function layCells(total, { width, cell, rowsMax }) {
  const columns = Math.max(1, Math.floor(width / cell));
  const perCell = Math.max(1, Math.ceil(total / (columns * rowsMax)));
  const cells = Math.ceil(total / perCell);
  return { columns, rows: Math.ceil(cells / columns), perCell, cells };
}

/**
 * What each cell shows: `[{from, to, standing, replayed, dropped}]`. `coverage` stretches are `[from, to)`, in order; frames
 * beyond the last one wait, but for those that failed: these are listed in full.
 */
export function fillCells({ total, coverage, replays, drops, failedFrames = [] }, { perCell, cells }) {
  const filled = Array.from({ length: cells }, (_, place) => ({
    from: place * perCell, to: Math.min(total, (place + 1) * perCell), standing: null, replayed: false, dropped: 0,
  }));
  const over = ([from, to], act) => {
    const last = Math.min(cells - 1, Math.floor((to - 1) / perCell));
    for (let place = Math.floor(from / perCell); place <= last; place++) act(filled[place]);
  };
  for (const stretch of coverage) over(stretch.frameRange, (cell) => { cell.standing = first(cell.standing, standingOf(stretch, cell)); });
  for (const frameRange of failedFrames) over(frameRange, (cell) => { cell.standing = 'failed'; });
  for (const { frameRange } of replays) over(frameRange, (cell) => { cell.replayed = true; });
  for (const { frameRange, droppedFrames } of drops) over(frameRange, (cell) => { cell.dropped += droppedFrames; });
  const end = coverage.at(-1)?.frameRange[1] ?? 0;
  for (const cell of filled) if (cell.to > end || cell.standing === null) cell.standing = first(cell.standing, 'pending');
  return filled;
}

/** Within a range that runs, frames up to what the worker reported are made, though not yet handed in. */
function standingOf({ frameRange, status, processedFrames }, cell) {
  return status === 'assigned' && processedFrames > 0 && cell.to <= frameRange[0] + processedFrames ? 'running' : status;
}

function first(one, other) {
  if (one === null) return other;
  return rank(one) <= rank(other) ? one : other;
}

const rank = (standing) => { const place = STANDINGS.indexOf(standing); return place < 0 ? 0 : place; };

/** The stretch that holds a frame. */
export const stretchAt = (coverage, frame) => coverage.find(({ frameRange: [from, to] }) => frame >= from && frame < to);

/** How many frames stand where, and how many of them were made anew or dropped. */
export function countFrames({ total, coverage, replays, drops, failedFrames = [] }) {
  const counts = {};
  for (const { frameRange: [from, to], status } of coverage) counts[status] = (counts[status] ?? 0) + to - from;
  const end = coverage.at(-1)?.frameRange[1] ?? 0;
  const failed = failedFrames.reduce((sum, [from, to]) => sum + Math.max(0, to - Math.max(from, end)), 0);
  if (failed > 0) counts.failed = (counts.failed ?? 0) + failed;
  if (end + failed < total) counts.pending = (counts.pending ?? 0) + total - end - failed;
  return { counts, replayed: replays.length, dropped: drops.reduce((sum, { droppedFrames }) => sum + droppedFrames, 0) };
}
