// An entry of the feed as one sentence, with links to what it is about.

import { h } from '../../dom.js';
import { idLink } from '../../parts/links.js';
import { hasText, moment, pieces, statusWord } from '../../text.js';
import { isAboutWorker } from './alert_subject.js';
import { formOf } from './sentence_form.js';

/** The sentence in pieces; entries of kinds that nobody knows yet are shown as they are. */
export function sentence({ kind, body }) {
  const form = formOf({ kind, body }, hasText);
  const text = form ? `event.${kind}_${form}` : `event.${kind}`;
  return hasText(text) ? pieces(text, values(kind, body)) : [h('code', {}, kind), ' ', h('code', {}, JSON.stringify(body))];
}

function values(kind, body) {
  const found = { n: body.count ?? body.assignments?.length ?? body.totalFrames ?? body.files };
  for (const [name, value] of Object.entries(body)) found[name] = show({ kind, body }, name, value);
  if (Array.isArray(body.frameRange)) Object.assign(found, { first: body.frameRange[0], last: Math.max(body.frameRange[0], body.frameRange[1] - 1) });
  if (kind === 'pool_jobs_ended') for (const end of ['completed', 'failed', 'cancelled']) found[end] = body[end]?.length ?? 0;
  return found;
}

function show({ kind, body }, name, value) {
  const link = LINKS[name]?.(kind, body);
  if (link) return idLink(link, value);
  if (name === 'status' || name === 'from' || name === 'to' || name === 'end') return statusWord(value);
  if (name === 'until' || name === 'next_at' || name === 'slot') return moment(value);
  if (name === 'step' || name === 'outcome' || name === 'cron' || name === 'workflow') return h('code', {}, String(value));
  return typeof value === 'number' ? value : String(value);
}

/** Which thing a field names; that depends on the contract an entry is of. */
const LINKS = {
  worker: (kind, { alert }) => (/^(pool|sim|range|chunk)_/.test(kind) || isAboutWorker(alert) ? 'worker' : 'node'),
  device: () => 'device',
  task: (kind) => (/^(range|chunk)_/.test(kind) ? 'range' : 'task_device'),
  job: () => 'run',
  session: () => 'session',
  schedule: () => 'schedule',
};
