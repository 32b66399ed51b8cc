// Drives one library in one part: node drive.mjs LIBRARY prepare|send|work|latency '{"url": …, "jobs": …, "batch": …}'
//
// Says "ready", waits for a line, does its part, says "done", and waits to be ended. The measuring program keeps the time;
// only latencies are measured here and printed in milliseconds.
import { once } from "node:events";
import { setTimeout } from "node:timers/promises";

const [, , library, part, text] = process.argv;
const settings = JSON.parse(text);
const { prepare, sender, worker, settled } = await import(`./${library}.mjs`);

const parts = {
  prepare: () => prepare(settings),
  send: async () => {
    const send = await sender(settings);
    await told("ready");
    let left = settings.jobs;
    const loop = async (_, number) => {
      while (left > 0) {
        const count = Math.min(settings.batch, left);
        left -= count;
        await send(count, number);
      }
    };
    await Promise.all(Array.from({ length: settings.senders }, loop));
  },
  work: async () => {
    const all = Promise.withResolvers();
    let left = settings.jobs;
    const start = await worker(settings, (count) => (left -= count) === 0 && all.resolve());
    await told("ready");
    start();
    await all.promise;
    await settled?.(settings);
  },
  latency: async () => {
    let done;
    const one = { ...settings, senders: 1, workers: 1, oneByOne: true };
    const send = await sender(one);
    const start = await worker(one, () => done.resolve());
    await told("ready");
    start();
    const times = [];
    for (let job = 0; job < settings.jobs; job++) {
      // Lets the worker ask for the next.
      await setTimeout(2);
      done = Promise.withResolvers();
      const begun = performance.now();
      await Promise.all([send(1, 0), done.promise]);
      times.push(performance.now() - begun);
    }
    console.log(JSON.stringify(times));
  },
};

await parts[part]();
await told("done");
process.exit(0);

async function told(word) {
  console.log(word);
  await once(process.stdin, "data");
}
