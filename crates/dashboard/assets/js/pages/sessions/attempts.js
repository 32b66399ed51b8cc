// Attempts on ranges that ended without a result: the list of ranges has only the last attempt of each. Pure: no page, no network.

/**
 * Out of the ids that were retired with them: `[{taskId, workerId, attempt, frameRange, from, to, reason}]`. When an attempt
 * between the first and the last began nobody has written down; such a one is a moment, its end.
 */
export function endedAttempts(tasks, chunks) {
  const known = new Map(tasks.map((task) => [task.taskId, task]));
  const found = new Map();
  for (const { taskId, workerId, attempt, reason, at } of chunks) {
    const task = known.get(taskId);
    const key = `${taskId} ${attempt}`;
    // An attempt may have been granted ids several times; they are retired together.
    if (!task || found.has(key)) continue;
    const from = attempt === task.attempt ? task.grantedAt : attempt === 1 ? task.createdAt ?? at : at;
    found.set(key, { taskId, workerId, attempt, frameRange: task.frameRange, from: Math.min(from, at), to: at, reason });
  }
  return [...found.values()];
}
