// Which alerts a viewer has put away, and in which order the others stand. Pure: no page, no storage.

/** So many are remembered; the server tells of fewer. */
const AWAY_MAX = 500;

/** The worst first; kinds that nobody knows yet stand in between. */
const RANKS = { mass_dropout: 0, frames_skipped: 0, heartbeat_late: 2, summary_mismatch: 2 };
const rank = ({ kind }) => RANKS[kind] ?? 1;

/** What was kept, as ids; nothing where it cannot be read. */
export function readAway(text) {
  try {
    const ids = JSON.parse(text ?? '[]');
    return Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [];
  } catch {
    return [];
  }
}

/** The ids with one more; the oldest are forgotten. */
export const withAway = (ids, id) => [...ids.filter((other) => other !== id), id].slice(-AWAY_MAX);

/** Alerts that are to be seen, worst first and then newest first, and how many of those there are were put away. */
export function sortOut(alerts, away) {
  const hidden = new Set(away);
  const seen = alerts.filter(({ id }) => !hidden.has(id)).sort((one, other) => rank(one) - rank(other) || other.at - one.at);
  return { seen, away: alerts.length - seen.length };
}
