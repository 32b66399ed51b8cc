// What the result of a run or a session lacks: one with something missing is never shown as a plain success. Pure: no page, no texts.

/** Whether a run succeeded without some of its devices (Q7b). */
export const isPartial = ({ status, outcome }) => status === 'success' && outcome === 'partial';

/** Devices that a partial run did not complete. */
export function missingDevices({ outcome, counts, total }) {
  if (outcome !== 'partial') return 0;
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return Math.max(0, (total ?? rows) - counts.completed);
}

/** Whether a session was completed without some of its frames (S23b). Servers before this field complete a session only with all frames. */
export const isIncomplete = ({ status, complete }) => status === 'completed' && complete === false;

/** Frames that an incomplete session lacks. */
export const missingFrames = ({ skippedFrames, totalFrames, completedFrames }) => skippedFrames || totalFrames - completedFrames;

/** Frames that failed: the page of a session names them, lists have their number. */
export const failedFrames = ({ failedFrames: ranges, skippedFrames }) => (ranges ? framesIn(ranges) : skippedFrames ?? 0);

/** Frames in ranges `[start, end)`. */
export const framesIn = (ranges) => ranges.reduce((sum, [start, end]) => sum + end - start, 0);
