// Which of its sentences an entry of the feed is told in. Pure: no page, no texts.

import { isPartial } from '../../missing.js';
import { isAboutWorker } from './alert_subject.js';

/**
 * The form of its sentence that an entry takes, or undefined; `hasForm(key)` says which there are. A result with something missing
 * is never told as a plain success.
 */
export function formOf({ kind, body }, hasForm) {
  if (kind === 'job_ended' && isPartial(body)) return 'partial';
  if (kind === 'session_ended' && body.status === 'completed' && body.error) return 'partial';
  if (kind === 'alert_raised' && isAboutWorker(body.alert)) return 'worker';
  return ['error', 'note', 'reason'].find((name) => body[name] && hasForm(`event.${kind}_${name}`));
}
