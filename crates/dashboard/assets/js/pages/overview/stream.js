// What happens, as it happens: the newest hundred entries, and how many more there were.

import { fill, h, say } from '../../dom.js';
import { atMostEvery } from '../../pace.js';
import { moment, number, t } from '../../text.js';
import { sentence } from './sentence.js';

const LINES = 100;
const LINES_BEFORE = 40;
const LINES_PER_DRAW = 10;
const DRAW_MS = 250;
/** Entries of one step of one task: so many that all others would drown. */
const STEPS = new Set(['task_progress', 'task_confirmed', 'range_confirmed', 'attempt_ended']);

/** The stream: `take(batch)` for entries, `begin(batch)` for those from before it was opened, whenever they come; ended by `signal`. */
export function eventStream(signal) {
  const list = h('ol', { class: 'events', 'aria-label': t('overview.events') });
  const wanted = h('input', { type: 'search', name: 'events', placeholder: t('overview.events_filter'), 'aria-label': t('overview.events_filter'), onInput: () => clear() });
  const steps = h('input', { type: 'checkbox', name: 'steps', onChange: () => clear() });
  const rate = h('span', { class: 'quiet' });
  const state = { waiting: [], skipped: 0, isPaused: false, counted: [], first: Infinity };
  const pause = h('button', { 'aria-pressed': 'false', onClick: () => toggle() }, t('overview.pause'));
  const toggle = () => {
    state.isPaused = !state.isPaused;
    pause.setAttribute('aria-pressed', String(state.isPaused));
    say(pause, t(state.isPaused ? 'overview.go_on' : 'overview.pause'));
    if (!state.isPaused) draw();
  };
  const clear = () => {
    state.waiting = [];
    state.skipped = 0;
    fill(list);
  };
  const draw = () => {
    say(rate, t('overview.events_rate', { n: Math.round(perSecond(state.counted)) }));
    if (state.isPaused || state.waiting.length + state.skipped === 0) return;
    const lines = state.waiting.map(line).reverse();
    if (state.skipped) lines.push(h('li', { class: 'quiet skipped' }, t('overview.events_more', { n: state.skipped })));
    state.waiting = [];
    state.skipped = 0;
    list.prepend(...lines);
    while (list.children.length > LINES) list.lastChild.remove();
  };
  const drawSoon = atMostEvery(DRAW_MS, draw, signal);
  const take = (batch) => {
    state.counted.push([performance.now(), batch.length]);
    state.first = Math.min(state.first, batch[0]?.seq ?? Infinity);
    const filter = wanted.value.trim().toLowerCase();
    for (const entry of batch) if (isWanted(entry, filter, steps.checked)) keep(state, entry);
    drawSoon();
  };
  const begin = (batch) => {
    const filter = wanted.value.trim().toLowerCase();
    const older = batch.filter((entry) => entry.seq < state.first && isWanted(entry, filter, steps.checked)).slice(-LINES_BEFORE);
    list.append(...older.map(line).reverse());
  };
  const timer = setInterval(() => { if (!document.hidden) drawSoon(); }, 1000);
  signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  const element = h('section', { class: 'card stream', 'aria-labelledby': 'events-title' },
    h('div', { class: 'tools' }, h('h2', { id: 'events-title' }, t('overview.events')), rate, wanted,
      h('label', { class: 'check' }, steps, t('overview.steps')), pause),
    list);
  return { element, take, begin };
}

/** Keeps the newest few for the next drawing; of the others only the number. */
function keep(state, entry) {
  state.waiting.push(entry);
  if (state.waiting.length > LINES_PER_DRAW) {
    state.waiting.shift();
    state.skipped++;
  }
}

function isWanted({ kind, body }, filter, withSteps) {
  if (filter === '') return withSteps || !STEPS.has(kind);
  return kind.includes(filter) || JSON.stringify(body).toLowerCase().includes(filter);
}

const line = (entry) => h('li', {}, h('time', { class: 'quiet' }, moment(entry.body.at ?? Date.now())), h('span', { title: `${entry.kind} · ${number(entry.seq)}` }, sentence(entry)));

/** Entries per second over the last five seconds; what is older is forgotten. */
function perSecond(counted) {
  const from = performance.now() - 5000;
  while (counted.length && counted[0][0] < from) counted.shift();
  return counted.reduce((sum, [, count]) => sum + count, 0) / 5;
}
