// The feed of everything that became durable, without a gap: one connection per tab, resumed where it broke off.

import { stream } from './api.js';
import { eventReader } from './sse.js';

const WAIT_MIN_MS = 500;
const WAIT_MAX_MS = 8000;
/** Entries that may wait for a hidden tab; beyond that whoever listens begins anew. */
const HELD_MAX = 20000;

let last = null;
let held = [];
let flushing = false;
let running = null;
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

/** Has entries handed over, a batch per drawn frame: `[{seq, kind, body}]`, oldest first. */
export function onEntries(listen) {
  listeners.add(listen);
  return () => listeners.delete(listen);
}

/** Called when entries were missed for good: load the current state and `startAt` its number. */
export function onGap(restart) {
  restarters.add(restart);
  return () => restarters.delete(restart);
}

/** Connects, unless that was done, and begins with what comes next. */
export function start() {
  if (!running) startAt(null);
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
      const response = await stream(last === null ? '/api/events' : `/api/events?after=${last}`, {}, signal);
      tell('live');
      wait = WAIT_MIN_MS;
      await read(response.body, signal);
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

async function read(body, signal) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const events = eventReader();
  for (;;) {
    const { value, done } = await reader.read();
    if (done || signal.aborted) return;
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
  const flush = () => {
    flushing = false;
    const batch = held;
    held = [];
    for (const listen of listeners) listen(batch);
  };
  if (document.hidden) setTimeout(flush, 1000);
  else requestAnimationFrame(flush);
}

function beginAnew() {
  stop();
  tell('reconnecting');
  if (restarters.size === 0) start();
  for (const restart of restarters) restart();
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
