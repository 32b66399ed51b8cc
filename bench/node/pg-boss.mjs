// pg-boss through its public API: fetch() and complete() in loops, because work() waits at least half a second after it
// found nothing.
import { PgBoss } from "pg-boss";

const queue = "jobs";
const quiet = { supervise: false, schedule: false };

export async function prepare({ url }) {
  const boss = new PgBoss({ connectionString: url, ...quiet });
  await boss.start();
  await boss.createQueue(queue, { partition: true });
  await boss.stop({ graceful: false });
}

/** Gives a function that hands in so many jobs and resolves when they are durable. */
export async function sender({ url, senders, payload }) {
  const boss = await open(url, senders);
  return async (count) => {
    if (count === 1) await boss.send(queue, payload);
    else await boss.insert(queue, Array.from({ length: count }, () => ({ data: payload })));
  };
}

/** Gives a function that begins to work; tells how many jobs were done. */
export async function worker({ url, batch, workers }, done) {
  const boss = await open(url, workers);
  const work = async () => {
    for (;;) {
      const jobs = await boss.fetch(queue, { batchSize: batch });
      if (jobs.length > 0) await boss.complete(queue, jobs.map((job) => job.id));
      if (jobs.length > 0) done(jobs.length);
    }
  };
  return () => Array.from({ length: workers }, work);
}

async function open(connectionString, max) {
  const boss = new PgBoss({ connectionString, max, migrate: false, ...quiet });
  boss.on("error", (error) => {
    throw error;
  });
  return boss.start();
}
