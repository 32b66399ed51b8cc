// Everything at a glance: what gets done, what waits, what fails, who leads, and what happens just now.

import { get, may } from '../api.js';
import { fill, h } from '../dom.js';
import { onEntries, onGap, onStanding } from '../live.js';
import { atMostEvery } from '../pace.js';
import { refresher } from '../parts/refresh.js';
import { ranking } from '../parts/tally.js';
import { ago, moment, t } from '../text.js';
import { watchFleet } from '../watch.js';
import { alertList } from './overview/alerts.js';
import { Figures, isCounted } from './overview/figures.js';
import { entriesUpTo } from './overview/past.js';
import { eventStream } from './overview/stream.js';
import * as tiles from './overview/tiles.js';

const SNAPSHOT_MS = 15000;
const SNAPSHOT_LEAST_MS = 5000;
const DRAW_MS = 250;
const RECENT_MS = 10000;
/** So many entries from before are looked at; of most of them nothing is shown. */
const PAST = 100;
/** After these the snapshot is worth asking for sooner. */
const NEWS = /^(job_|session_|pool_jobs_submitted|pool_worker_|sim_worker_|worker_|alert_)/;

export async function open({ root, title, signal }) {
  const parts = cards();
  const stream = eventStream(signal);
  const state = { snapshot: null, figures: new Figures(), fleet: null, recent: [], ahead: 0 };
  const draw = () => drawFigures(parts, state);
  const drawSoon = atMostEvery(DRAW_MS, draw, signal);
  const load = async () => {
    const snapshot = await get('/api/overview', {}, signal);
    state.ahead = snapshot.at - Date.now();
    state.figures.takeSnapshot(snapshot, state.recent.map(([, entry]) => entry));
    state.snapshot = snapshot;
    drawSnapshot(parts, state.snapshot);
    draw();
  };
  await load();
  state.fleet = await watchFleet({ signal, changed: drawSoon });
  fill(root, title(t('nav.overview')), layout(parts, stream));
  draw();
  const snapshots = refresher(load, { everyMs: SNAPSHOT_MS, leastMs: SNAPSHOT_LEAST_MS, atOnce: false });
  const take = (batch) => {
    remember(state.recent, batch);
    for (const entry of batch) state.figures.apply(entry);
    stream.take(batch);
    if (batch.some(({ kind }) => NEWS.test(kind))) snapshots.touch();
    drawSoon();
  };
  // Whoever answers after a break may be another server.
  const stops = [onEntries(take), onGap(() => { state.recent = []; snapshots.touch(); }), onStanding((now) => { if (now === 'live') snapshots.touch(); }), snapshots.close];
  entriesUpTo(state.snapshot.seq, PAST, signal).then((past) => { if (!signal.aborted) stream.begin(past); });
  const clock = setInterval(() => { if (!document.hidden) drawSoon(); }, 1000);
  return () => { clearInterval(clock); for (const stop of stops) stop(); };
}

/** Keeps what was counted lately: a snapshot may be a moment older than what came before it was asked for. */
function remember(recent, batch) {
  const now = performance.now();
  for (const entry of batch) if (isCounted(entry)) recent.push([now, entry]);
  const old = recent.findIndex(([at]) => at > now - RECENT_MS);
  recent.splice(0, old < 0 ? recent.length : old);
}

function cards() {
  return {
    throughput: tiles.throughput(),
    oldest: tiles.oldestWaiting(),
    slots: tiles.slots(),
    devices: tiles.devices(),
    nodes: tiles.nodes(),
    runs: tiles.queue('runs', [['running', 'busy'], ['pending', 'warn']]),
    sessions: tiles.queue('sessions', [['running', 'busy'], ['pending', 'warn'], ['paused', 'none']]),
    pool: tiles.queue('jobs', [['running', 'busy'], ['queued', 'warn']]),
    workers: tiles.workers(),
    leader: tiles.leader(),
    failures: ranking({ label: t('overview.failures'), empty: t('overview.no_failures') }),
    failuresSince: h('p', { class: 'quiet' }),
    alerts: alertList(),
  };
}

function layout(parts, stream) {
  const tile = ['oldest', 'slots', 'devices', 'nodes', 'runs', 'sessions', 'pool', 'workers'].map((name) => parts[name].element);
  return [
    parts.alerts.element,
    h('div', { class: 'rates' }, parts.throughput.elements),
    h('div', { class: 'cards tiles' }, tile),
    h('div', { class: 'overview-columns' },
      stream.element,
      h('div', { class: 'overview-side' },
        h('section', { class: 'card' }, h('h2', {}, t('overview.failures')), parts.failures.element, parts.failuresSince),
        parts.leader.element)),
  ];
}

/** What moves between snapshots. */
function drawFigures(parts, { snapshot, figures, fleet, ahead }) {
  const now = Date.now() + ahead;
  parts.throughput.set(figures, now);
  parts.oldest.set(snapshot.oldest_waiting, now);
  if (!fleet) return;
  parts.slots.set(fleet.tasks.size, snapshot.slots.target);
  parts.devices.set(fleet.counts);
  parts.nodes.set(fleet.nodes.values());
}

/** What only a snapshot says. */
function drawSnapshot(parts, snapshot) {
  parts.runs.set(snapshot.runs);
  parts.sessions.set(snapshot.sessions);
  parts.pool.set({ running: snapshot.pool.jobs_running, queued: snapshot.pool.jobs_waiting });
  parts.workers.set(snapshot);
  parts.leader.set(snapshot);
  parts.failures.set(snapshot.failures.map((failure) => ({
    id: `${failure.contract} ${failure.reason}`, count: failure.count, label: failureLabel(failure), detail: t('overview.failure_detail', { contract: t(`overview.contract_${failure.contract}`), when: ago(failure.last_at) }),
  })));
  fill(parts.failuresSince, snapshot.failures.length > 0 && t('overview.counting_since', { when: moment(snapshot.counting_since) }));
  parts.alerts.set(snapshot.alerts);
}

/** Where failures of a contract are listed. */
const LISTS = { nodes: 'runs', sessions: 'sessions', pool: 'jobs' };

function failureLabel({ contract, reason }) {
  const page = LISTS[contract];
  const shown = h('code', {}, reason);
  return page === 'jobs' && !may.useJobs() ? shown : h('a', { href: `#/${page}?status=failed` }, shown);
}
