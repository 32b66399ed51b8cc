// Reads something anew when the feed says that it may have changed.

import { may } from '../api.js';
import { onEntries, onGap, onStanding } from '../live.js';
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
  // Listened to from before the first look: what happens while that is on its way would else be told to nobody.
  let again = null;
  let isLate = false;
  const touch = () => { if (again) again.touch(); else isLate = true; };
  const ends = [onEntries((batch) => { if (batch.some(concerns)) touch(); }), onGap(touch), onceLive(touch)];
  const stop = () => { for (const end of ends) end(); };
  try {
    await load();
  } catch (error) {
    stop();
    throw error;
  }
  let takeBack = () => {};
  const reload = async () => { await load(); takeBack(); };
  const trouble = (error) => {
    takeBack();
    if (isPassing(error)) takeBack = lasting(passingText(error));
    else failed(error);
  };
  again = refresher(reload, { atOnce: false, everyMs: may.read() ? undefined : POLL_MS, failed: trouble });
  ends.push(again.close, () => takeBack());
  if (isLate) again.touch();
  if (signal.aborted) stop();
  return { now: again.now, stop };
}

/** Calls back when the feed comes to be live, not where it is: before that, nobody tells what happens. */
function onceLive(touch) {
  let before = null;
  return onStanding((now) => {
    if (before !== null && now === 'live') touch();
    before = now;
  });
}
