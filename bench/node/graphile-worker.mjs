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

/** Works until so many jobs are done, and the database says so. */
export async function worker({ url, jobs, tune }) {
  const all = Promise.withResolvers();
  let left = jobs;
  const preset = {
    worker: {
      connectionString: url,
      logger,
      concurrentJobs: 24,
      maxPoolSize: 25,
      localQueue: { size: 500 },
      completeJobBatchDelay: 0,
      failJobBatchDelay: 0,
      ...tune,
    },
  };
  const runner = await run({ preset, taskList: { [task]: () => {} }, noHandleSignals: true });
  runner.events.on("job:complete", () => --left === 0 && all.resolve());
  // Completions in batches are written after that event.
  return () => all.promise.then(() => emptied(url));
}

async function emptied(connectionString) {
  const utils = await makeWorkerUtils({ connectionString, logger });
  const isEmpty = async (client) => (await client.query("SELECT 1 FROM graphile_worker.jobs LIMIT 1")).rowCount === 0;
  while (!(await utils.withPgClient(isEmpty))) await setTimeout(1);
}
