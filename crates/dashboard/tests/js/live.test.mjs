// The feed goes on by itself: after silence, after a gap, after a hidden tab had enough.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, beforeEach, mock, test } from 'node:test';

globalThis.sessionStorage = { getItem: () => 'an-admin-token', setItem() {}, removeItem() {} };
// No other tabs.
globalThis.BroadcastChannel = undefined;
const seen = new EventTarget();
globalThis.document = { hidden: false, addEventListener: seen.addEventListener.bind(seen), removeEventListener: seen.removeEventListener.bind(seen) };
globalThis.requestAnimationFrame = () => 0;
globalThis.cancelAnimationFrame = () => {};

/** The connections of the test, oldest first: `say` sends text, `signal` tells whether the page ended it. */
let connections = [];
let me = { roles: ['VIEWER'] };
globalThis.fetch = async (path, { signal }) => {
  if (path === '/auth/me') return new Response(JSON.stringify(me));
  let say;
  const body = new ReadableStream({ start(controller) {
    say = (text) => controller.enqueue(new TextEncoder().encode(text));
    signal.addEventListener('abort', () => controller.error(new DOMException('ended', 'AbortError')));
  } });
  connections.push({ path, say, signal });
  return new Response(body);
};

const api = await import('../../assets/js/api.js');
const live = await import('../../assets/js/live.js');
/** Lets everything happen that needs no clock. */
const settle = async () => { for (let turn = 0; turn < 20; turn++) await new Promise((done) => { setImmediate(done); }); };
const pass = async (ms) => { mock.timers.tick(ms); await settle(); };
const entries = (from, count) => Array.from({ length: count }, (_, index) => `id: ${from + index}\nevent: job_created\ndata: {}\n\n`).join('');
const look = (hidden) => { document.hidden = hidden; seen.dispatchEvent(new Event('visibilitychange')); };

mock.timers.enable({ apis: ['setTimeout', 'Date'] });
await api.resume();

after(() => live.stop());

beforeEach(async () => {
  live.stop();
  document.hidden = false;
  await pass(120000);
  connections = [];
});

test('silence is three signs of life long', () => {
  const source = readFileSync(new URL('../../../http/src/events.rs', import.meta.url), 'utf8');
  const [, seconds] = source.match(/KEEP_ALIVE: Duration = Duration::from_secs\((\d+)\)/);
  assert.equal(live.SILENCE_MS, seconds * 3000);
});

test('a silent connection is ended and resumed where it was; one that shows signs of life is not', async () => {
  live.start();
  await settle();
  connections[0].say(entries(7, 1));
  for (let sign = 0; sign < 5; sign++) {
    await pass(live.SILENCE_MS - 1);
    connections[0].say(':\n\n');
    await settle();
  }
  assert.equal(connections.length, 1);
  await pass(live.SILENCE_MS);
  assert.ok(connections[0].signal.aborted);
  await pass(1000);
  assert.deepEqual(connections.map(({ path }) => path), ['/api/events', '/api/events?after=7']);
});

test('after a gap the feed goes on, though whoever listened has left meanwhile', async () => {
  const leave = live.onGap(() => {});
  live.start();
  await settle();
  connections[0].say('event: gone\ndata: {}\n\n');
  await settle();
  leave();
  await pass(10000);
  assert.equal(connections.length, 2);
});

test('whoever begins to listen during a gap takes nobody’s new beginning away', async () => {
  let renewed = 0;
  const leave = live.onGap(() => renewed++);
  live.start();
  await settle();
  connections[0].say('event: gone\ndata: {}\n\n');
  await settle();
  const end = live.onEntries(() => {});
  await pass(10000);
  assert.deepEqual([renewed, connections.length], [1, 2]);
  leave();
  end();
});

test('listening connects', async () => {
  live.onEntries(() => {})();
  await settle();
  assert.equal(connections.length, 1);
});

test('gaps one after the other are answered less and less often', async () => {
  const at = [];
  const leave = live.onGap(() => at.push(Date.now()));
  live.start();
  for (let gap = 0; gap < 4; gap++) {
    await settle();
    connections.at(-1).say('event: gone\ndata: {}\n\n');
    await settle();
    for (let step = 0; at.length === gap; step++) await pass(100);
  }
  const waits = at.slice(1).map((now, index) => now - at[index]);
  assert.deepEqual(waits, [1000, 2000, 4000]);
  leave();
});

test('a hidden tab that had too much stops, and begins anew when somebody looks', async () => {
  let renewed = 0;
  const leave = live.onGap(() => renewed++);
  live.start();
  await settle();
  look(true);
  connections[0].say(entries(1, 20001));
  await settle();
  await pass(600000);
  assert.deepEqual([renewed, connections.length, connections[0].signal.aborted], [0, 1, true]);
  look(false);
  await settle();
  assert.deepEqual([renewed, connections.length], [1, 2]);
  leave();
});

test('a batch whose frame is never drawn is handed over all the same', async () => {
  const batches = [];
  const end = live.onEntries((batch) => batches.push(batch.map(({ seq }) => seq)));
  await settle();
  connections[0].say(entries(1, 2));
  await settle();
  look(true);
  await pass(1000);
  assert.deepEqual(batches, [[1, 2]]);
  end();
});

test('whoever may not read the feed does not ask for it', async () => {
  me = { roles: ['CLIENT'] };
  await api.resume();
  live.onEntries(() => {})();
  await settle();
  assert.equal(connections.length, 0);
});
