// Reads something anew when the feed says that it may have changed.

import { may } from '../api.js';
import { onEntries, onGap, start } from '../live.js';
import { refresher } from './refresh.js';

/** Whoever may not read the feed asks now and then. */
const POLL_MS = 3000;

/**
 * Calls `load` now, and again after entries that `concerns`. Errors of the first load are thrown, later ones go to `failed`,
 * unless the server did not answer at all: it is asked again. Gives `{now, stop}`: `now` loads at once, for an act of the user's own.
 */
export async function following({ load, concerns, failed, signal }) {
  await load();
  const again = refresher(load, { atOnce: false, everyMs: may.read() ? undefined : POLL_MS, failed: (error) => { if (error.status !== 0) failed(error); } });
  const ends = [
    onEntries((batch) => { if (batch.some(concerns)) again.touch(); }),
    onGap(() => { start(); again.touch(); }),
    again.close,
  ];
  const stop = () => { for (const end of ends) end(); };
  if (signal.aborted) stop();
  return { now: again.now, stop };
}
