// The fleet, loaded once and kept up to date by the feed for whoever shows it.

import { get } from './api.js';
import { Fleet } from './fleet.js';
import { onEntries, onGap, startAt } from './live.js';

const AGAIN_MS = 3000;

/**
 * Watches the fleet until `signal` ends it. `changed({devices, whole})` is called at most once per drawn frame: with the
 * devices that changed, or `whole` where nodes or the places of devices did. Gives the model when it is loaded.
 */
export async function watchFleet({ signal, changed }) {
  const fleet = new Fleet();
  let from = Infinity;
  let isGiven = false;
  const load = async () => {
    const snapshot = await get('/api/fleet', {}, signal);
    fleet.takeSnapshot(snapshot);
    from = snapshot.seq ?? -1;
    startAt(snapshot.seq ?? null);
  };
  const take = (batch) => {
    const devices = new Set();
    let whole = false;
    for (const entry of batch) {
      // What the snapshot knew already would set devices back for a moment.
      if (entry.seq <= from) continue;
      const what = fleet.apply(entry);
      if (what === 'node') whole = true;
      else if (what) devices.add(what);
    }
    if (whole || devices.size) changed({ devices, whole });
  };
  // The server may be away just then: it is asked until it answers.
  const again = async () => {
    try {
      await load();
      if (isGiven) changed({ devices: new Set(), whole: true });
    } catch {
      if (!signal.aborted) setTimeout(again, AGAIN_MS);
    }
  };
  const stops = [onEntries(take), onGap(again)];
  signal.addEventListener('abort', () => { for (const stop of stops) stop(); }, { once: true });
  await load();
  isGiven = true;
  return fleet;
}
