// Drives one library in one part: node drive.mjs LIBRARY prepare|send|work '{"url": …, "jobs": …, "batch": …}'
//
// Says "ready", waits for a line, does its part, says "done". The measuring program keeps the time.
import { once } from "node:events";

const [, , library, part, text] = process.argv;
const settings = JSON.parse(text);
const { prepare, sender, worker } = await import(`./${library}.mjs`);

const parts = {
  prepare: () => prepare(settings),
  send: async () => {
    const send = await sender(settings);
    await told("ready");
    let left = settings.jobs;
    const loop = async () => {
      while (left > 0) {
        const count = Math.min(settings.batch, left);
        left -= count;
        await send(count);
      }
    };
    await Promise.all(Array.from({ length: settings.senders }, loop));
  },
  work: async () => {
    const finished = await worker(settings);
    await told("ready");
    await finished();
  },
};

await parts[part]();
console.log("done");
process.exit(0);

async function told(word) {
  console.log(word);
  await once(process.stdin, "data");
}
