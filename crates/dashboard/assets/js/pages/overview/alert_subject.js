// What an alert is about. Pure: no page, no network.

/** Alerts of the simulation: `pc_id` is a worker of sessions there. */
const OF_SIMULATION = ['chunkIntegrity', 'worker_zombie', 'frames_skipped'];

/** Whether alerts of a kind name a worker of sessions, not a node. */
export const isAboutWorker = (kind) => OF_SIMULATION.includes(kind);

/** The thing to look at: `{kind, id}`. Frames are missing from a session, which the message names first. */
export function subjectOf({ kind, pc_id: id, message }) {
  const session = kind === 'frames_skipped' && /^session ([a-z0-9_-]{1,64}) /.exec(message)?.[1];
  if (session) return { kind: 'session', id: session };
  return { kind: isAboutWorker(kind) ? 'worker' : 'node', id };
}
