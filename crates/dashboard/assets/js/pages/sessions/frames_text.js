// Frames of a session in words.

import { failedFrames } from '../../missing.js';
import { t } from '../../text.js';

/** So many ranges are named in a sentence; the map and the table of ranges show all of them. */
const NAMED = 12;

/** The frames of a range `[start, end)`: its first and its last, or the only one. */
export const rangeText = ([start, end]) => (end - start === 1 ? String(start) : t('sessions.range_of', { from: String(start), to: String(end - 1) }));

/** How many frames failed, and which. */
export function failedText(session) {
  const frames = t('sessions.failed_n', { n: failedFrames(session) });
  const ranges = session.failedFrames ?? [];
  if (ranges.length === 0) return frames;
  const names = ranges.slice(0, NAMED).map(rangeText);
  const more = ranges.length > NAMED ? [t('shell.and_more', { n: ranges.length - NAMED })] : [];
  return t('sessions.map_told', { frames, facts: [...names, ...more].join(', ') });
}
