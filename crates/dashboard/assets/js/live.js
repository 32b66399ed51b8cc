// The feed of everything that became durable, without a gap: one connection per tab, resumed where it broke off.

import { may, stream } from './api.js';
import { eventReader } from './sse.js';

const WAIT_MIN_MS = 500;
const WAIT_MAX_MS = 8000;
/** Entries that may wait for a hidden tab; beyond that whoever listens begins anew. */
const HELD_MAX = 20000;
/** Three signs of life that the server owes: a connection that is silent for so long is dead. */
export const SILENCE_MS = 45000;
/** A feed that held for so long begins anew without delay. */
const CALM_MS = 60000;
/** Frames are not drawn where nobody looks, not even those that were promised. */
const FLUSH_MS = 1000;

let last = null;
let held = [];
let flushing = false;
let running = null;
/** Takes back a new beginning that is planned. */
let forgo = null;
let anewWait = WAIT_MIN_MS;
let anewAt = -Infinity;
let standing = 'off';
const listeners = new Set();
const watchers = new Set();
const restarters = new Set();

/** How the connection stands: `off`, `live`, `reconnecting`. Calls back at once and on every change. */
export function onStanding(watch) {
  watchers.add(watch);
  watch(standing);
  return () => watchers.delete(watch);
}

/** Has entries handed over, a batch per drawn frame: `[{seq, kind, body}]`, oldest first. Connects, unless that was done. */
export function onEntries(listen) {
  listeners.add(listen);
  start();
  return () => listeners.delete(listen);
}

/** Called when entries were missed for good and the feed goes on with what comes next: load the current state (and `startAt` its number). */
export function onGap(restart) {
  restarters.add(restart);
  return () => restarters.delete(restart);
}

/** Connects, unless that was done or is planned, and begins with what comes next; for those who may read the feed. */
export function start() {
  if (!running && !forgo && may.read()) startAt(null);
}

/** Goes on after entry number `seq`, which a snapshot was given with: what came before a page listened comes again. */
export function startAt(seq) {
  if (running && seq !== null && last !== null && last <= seq) return;
  stop();
  last = seq;
  held = [];
  running = new AbortController();
  follow(running.signal);
}

/** Ends the connection. */
export function stop() {
  forgo?.();
  forgo = null;
  running?.abort();
  running = null;
  last = null;
  held = [];
  tell('off');
}

async function follow(signal) {
  let wait = WAIT_MIN_MS;
  while (!signal.aborted) {
    try {
      if (await connect(signal, () => { wait = WAIT_MIN_MS; })) return;
    } catch (error) {
      if (signal.aborted || error.status === 401) return;
      if (error.status === 410 || error.status === 422) return beginAnew();
    }
    if (signal.aborted) return;
    tell('reconnecting');
    await pause(wait * (0.75 + Math.random() / 2), signal);
    wait = Math.min(wait * 2, WAIT_MAX_MS);
  }
}

/** One connection, until it breaks or falls silent; true where whoever listens begins anew. */
async function connect(signal, connected) {
  const connection = new AbortController();
  const end = () => connection.abort();
  signal.addEventListener('abort', end, { once: true });
  let silence = setTimeout(end, SILENCE_MS);
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(end, SILENCE_MS);
  };
  try {
    const response = await stream(last === null ? '/api/events' : `/api/events?after=${last}`, {}, connection.signal);
    tell('live');
    connected();
    return await read(response.body, signal, heard);
  } finally {
    clearTimeout(silence);
    signal.removeEventListener('abort', end);
    end();
  }
}

async function read(body, signal, heard) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const events = eventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done || signal.aborted) return false;
    heard();
    for (const event of events(value)) {
      if (event.event === 'gone') return beginAnew();
      if (event.id === null) continue;
      last = Number(event.id);
      held.push({ seq: last, kind: event.event, body: parse(event.data) });
    }
    if (held.length > HELD_MAX) return beginAnew();
    flushSoon();
  }
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function flushSoon() {
  if (flushing || held.length === 0) return;
  flushing = true;
  let frame;
  const flush = () => {
    clearTimeout(timer);
    if (frame !== undefined) cancelAnimationFrame(frame);
    flushing = false;
    const batch = held;
    held = [];
    if (batch.length) for (const listen of listeners) listen(batch);
  };
  const timer = setTimeout(flush, FLUSH_MS);
  if (!document.hidden) frame = requestAnimationFrame(flush);
}

/** Whoever listens loads anew: when somebody looks, and less and less often where that does not help. */
function beginAnew() {
  stop();
  tell('reconnecting');
  anewWait = Date.now() - anewAt > CALM_MS ? WAIT_MIN_MS : Math.min(anewWait * 2, WAIT_MAX_MS);
  anewAt = Date.now();
  const renew = () => {
    if (document.hidden) return;
    forgo();
    forgo = null;
    // However whoever listens fares with loading, and whether or not they are still there: the feed goes on.
    start();
    for (const restart of restarters) restart();
  };
  const timer = setTimeout(renew, anewWait);
  document.addEventListener('visibilitychange', renew);
  forgo = () => { clearTimeout(timer); document.removeEventListener('visibilitychange', renew); };
  return true;
}

function tell(now) {
  if (now === standing) return;
  standing = now;
  for (const watch of watchers) watch(now);
}

const pause = (ms, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => { clearTimeout(timer); done(); }, { once: true });
  });
