// Reads something anew when the feed says that it may have changed.

import { may } from '../api.js';
import { onEntries, onGap } from '../live.js';
import { isPassing } from '../passing.js';
import { lasting, passingText } from './notice.js';
import { refresher } from './refresh.js';

/** Whoever may not read the feed asks now and then. */
const POLL_MS = 3000;

/**
 * Calls `load` now, and again after entries that `concerns`. Errors of the first load are thrown, later ones go to `failed`,
 * unless they pass: what is shown stays, and it is asked again. Gives `{now, stop}`: `now` loads at once, for an act of the user's own.
 */
export async function following({ load, concerns, failed, signal }) {
  await load();
  let takeBack = () => {};
  const reload = async () => { await load(); takeBack(); };
  const trouble = (error) => {
    takeBack();
    if (isPassing(error)) takeBack = lasting(passingText(error));
    else failed(error);
  };
  const again = refresher(reload, { atOnce: false, everyMs: may.read() ? undefined : POLL_MS, failed: trouble });
  const ends = [
    onEntries((batch) => { if (batch.some(concerns)) again.touch(); }),
    onGap(again.touch),
    again.close,
    () => takeBack(),
  ];
  const stop = () => { for (const end of ends) end(); };
  if (signal.aborted) stop();
  return { now: again.now, stop };
}
