// graphile-worker through its public API, set as its page on performance says is fastest.
import { setTimeout } from "node:timers/promises";
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";

const logger = new Logger(() => () => {});
const task = "job";

export async function prepare({ url }) {
  await runMigrations({ connectionString: url, logger });
}

/** Gives a function that hands in so many jobs and resolves when they are durable. */
export async function sender({ url, senders, payload }) {
  const utils = await makeWorkerUtils({ connectionString: url, maxPoolSize: senders, logger });
  return async (count) => {
    if (count === 1) await utils.addJob(task, payload);
    else await utils.addJobs(Array.from({ length: count }, () => ({ identifier: task, payload })));
  };
}

/** Works from now on; tells how many jobs were done. */
export async function worker({ url, oneByOne }, done) {
  const many = { concurrentJobs: 24, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
  const preset = { worker: { connectionString: url, logger, maxPoolSize: 25, ...(oneByOne ? {} : many) } };
  const runner = await run({ preset, taskList: { [task]: () => {} }, noHandleSignals: true });
  runner.events.on("job:complete", () => done(1));
  return () => {};
}

/** Completions in batches are written after their event. */
export async function settled({ url }) {
  const utils = await makeWorkerUtils({ connectionString: url, logger });
  const isEmpty = async (client) => (await client.query("SELECT 1 FROM graphile_worker.jobs LIMIT 1")).rowCount === 0;
  while (!(await utils.withPgClient(isEmpty))) await setTimeout(1);
}
