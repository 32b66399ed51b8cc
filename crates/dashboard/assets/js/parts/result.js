// How runs and sessions stand, as badges that say what is missing.

import { h } from '../dom.js';
import { isIncomplete, isPartial, missingDevices, missingFrames } from '../missing.js';
import { t } from '../text.js';
import { badge } from './badge.js';

/** The status of a run; a partial success has a badge of its own. */
export const runBadge = (run) => badge(isPartial(run) ? 'partial' : run.status);

/** The outcome of a run that says more than its status (Q7b), or null. */
export function runOutcome(run) {
  if (run.outcome === 'partial') return t('runs.result_partial', { n: missingDevices(run) });
  return run.outcome === 'complete' ? t('runs.result_complete') : null;
}

/** The status of a session; one without all its frames says how many are missing. */
export const sessionBadge = (session) => (isIncomplete(session) ? h('span', { class: 'badge warn long' }, t('sessions.missing_n', { n: missingFrames(session) })) : badge(session.status));
