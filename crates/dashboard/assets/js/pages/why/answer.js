// What an answer to "why?" refers to. Pure: no elements, no network, no clock.

/** Which kind of thing a field of the data names. */
const NAMED = {
  run_id: 'run', active_run_id: 'run', device_id: 'device', task_device_id: 'task_device', node_id: 'node', worker_id: 'worker',
  job_id: 'job', session_id: 'session', range_id: 'range', schedule_id: 'schedule', court_task_id: 'court_task',
};

/** Fields that are moments. */
const MOMENTS = ['since', 'until', 'at', 'next_at', 'slot', 'heartbeat_late_since'];

/** Numbers that decide between singular and plural, the telling ones first. */
const COUNTS = ['ahead', 'owners', 'waiting', 'sessions', 'soldiers', 'workers', 'running'];

/** What else a person said about it. */
const REMARKS = ['reason', 'error', 'summary', 'question'];

/** The things an answer names, but for the one that was asked about: `[{kind, id}]`. */
export function blockers({ kind, id, data }) {
  const named = Object.entries(data).filter(([key, value]) => NAMED[key] && value !== null).map(([key, value]) => ({ kind: NAMED[key], id: String(value) }));
  return named.filter((thing) => !(thing.kind === kind && thing.id === String(id)));
}

/** The kind of thing that a field names, or undefined. */
export const kindOf = (key) => NAMED[key];

export const isMoment = (key) => MOMENTS.includes(key);

/** The number that decides about plurals. */
export const countOf = (data) => data[COUNTS.find((key) => typeof data[key] === 'number')];

/** A remark that the sentence of `text` does not repeat. */
export const remarkOf = (data, placeholders) => data[REMARKS.find((key) => data[key] && !placeholders.includes(key))];

/** The way that led here: `via` of the address, `kind:id` each, oldest first. */
export const readTrail = (query) => query.getAll('via').slice(-TRAIL_MAX).map((step) => ({ kind: step.split(':')[0], id: step.slice(step.indexOf(':') + 1) }));

/** The address behind the `?` for a step further. */
export const trailQuery = (trail, here) => new URLSearchParams([...trail, here].slice(-TRAIL_MAX).map(({ kind, id }) => ['via', `${kind}:${id}`])).toString();

const TRAIL_MAX = 6;
