// Runs: a workflow over many devices. The list here; one run in runs/detail.js.

import { get, may, post } from '../api.js';
import { fill, h } from '../dom.js';
import { actButton } from '../parts/act_button.js';
import { keepInAddress } from '../parts/address.js';
import { badge } from '../parts/badge.js';
import { bulkBar, forEach, naming } from '../parts/bulk.js';
import { ask } from '../parts/dialog.js';
import { filter, searchBox } from '../parts/fields.js';
import { following } from '../parts/following.js';
import { shortId } from '../parts/links.js';
import { firstOf } from '../parts/pages.js';
import { bar } from '../parts/progress.js';
import { growing, lasting } from '../parts/since.js';
import { table } from '../parts/table.js';
import { to } from '../router.js';
import { moment, statusWord, t } from '../text.js';
import { openRun } from './runs/detail.js';
import { newRun } from './runs/new.js';
import { retryChosen } from './runs/retry.js';

const PAGE = 50;
const COUNTED_AT_ONCE = 4;
const STATUSES = ['pending', 'running', 'success', 'failed', 'cancelled'];

export const open = (context) => (context.args[0] ? openRun(context, context.args[0]) : openList(context));

/** Whether a run can still change. */
export const isOpen = ({ status }) => status === 'pending' || status === 'running';

async function openList({ root, title, query, signal, failed }) {
  const view = { status: query.get('status') ?? '', queue: query.get('queue') ?? '', q: query.get('q') ?? '' };
  const counts = counter(signal, () => draw());
  let runs = [];
  let most = PAGE;
  let feed;
  const bulk = bulkBar([
    { label: t('runs.retry_failed'), allowed: (chosen) => may.operate() && chosen.some((run) => !isOpen(run)), why: t('runs.retry_why_not'), act: (chosen) => retryChosen(chosen.filter((run) => !isOpen(run)), signal) },
    { label: t('runs.cancel'), danger: true, allowed: (chosen) => may.operate() && chosen.some(isOpen), why: t('runs.cancel_why_not'), act: (chosen) => cancelChosen(chosen.filter(isOpen)) },
  ]);
  const list = table({ caption: t('nav.runs'), id: (run) => run.run_id, columns: columns(), pick: bulk.set, empty: t('runs.none') });
  const more = h('button', { onClick: () => { most += PAGE; feed.now(); } }, t('shell.more'));
  const queues = queueFilter(view, () => change({ most: PAGE }));
  const draw = () => {
    const wanted = view.q.toLowerCase();
    const shown = runs.filter((run) => `${run.title ?? ''} ${run.run_id} ${run.workflow_id}`.toLowerCase().includes(wanted));
    list.set(shown.map((run) => ({ ...run, counts: counts.of(run) })));
  };
  const load = async () => {
    const page = await firstOf('/api/runs', { status: view.status, queue: view.queue }, { name: 'runs', most, signal });
    runs = page.items;
    more.hidden = !page.more;
    queues.learn(runs);
    draw();
    counts.learn(runs);
  };
  const change = (next) => {
    if (next.most) most = next.most;
    keepInAddress(view);
    feed.now();
  };
  fill(root, heading(title),
    h('div', { class: 'tools' },
      searchBox(t('runs.search'), view.q, (text) => { view.q = text; keepInAddress(view); draw(); }),
      filter('status', t('shell.filter_status'), [['', t('shell.all')], ...STATUSES.map((status) => [status, statusWord(status)])], view.status, (value) => { view.status = value; change({ most: PAGE }); }),
      queues.element),
    bulk.element, list.element, more);
  feed = await following({ load, failed, signal, concerns: ({ kind }) => kind.startsWith('job_') || kind === 'task_ended' });
  const still = growing(root);
  return () => { feed.stop(); still(); };
}

const heading = (title) => h('div', { class: 'heading' }, title(t('nav.runs')),
  actButton(t('runs.new'), { allowed: may.operate(), kind: 'primary', act: newRun }));

function columns() {
  return [
    { label: t('runs.title'), show: (run) => [h('a', { class: 'name', href: to('runs', run.run_id) }, run.title ?? run.run_id), h('span', { class: 'under' }, run.workflow_id)] },
    { label: t('shell.filter_status'), show: (run) => badge(run.status) },
    { label: t('runs.progress'), show: (run) => progressOf(run.counts) },
    { label: t('runs.queue'), show: (run) => run.queue },
    { label: t('runs.created'), show: (run) => h('time', { datetime: new Date(run.created_at).toISOString() }, moment(run.created_at)) },
    { label: t('runs.duration'), number: true, show: (run) => lasting(run.started_at, run.completed_at ?? (isOpen(run) ? null : run.started_at)) },
  ];
}

function progressOf(counts) {
  if (!counts) return h('div', { class: 'bar-of' });
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const words = t(counts.failed ? 'runs.done_failed' : 'runs.done_of', { done: counts.completed, total, failed: counts.failed });
  return [bar(counts), h('span', { class: 'under' }, words)];
}

/** The queues there are, as far as they were seen. */
function queueFilter(view, changed) {
  const known = new Set(view.queue ? [view.queue] : []);
  const element = filter('queue', t('runs.queue'), [['', t('shell.all')], ...[...known].map((queue) => [queue, queue])], view.queue, (value) => { view.queue = value; changed(); });
  const select = element.querySelector('select');
  const learn = (runs) => {
    for (const { queue } of runs) {
      if (known.has(queue)) continue;
      known.add(queue);
      select.append(h('option', { value: queue }, queue));
    }
  };
  return { element, learn };
}

/** Counts per run, which lists do not hold: asked once for what has ended, again and again for what runs. */
function counter(signal, learned) {
  const known = new Map();
  let busy = false;
  const learn = async (runs) => {
    if (busy) return;
    busy = true;
    const asked = runs.filter((run) => isOpen(run) || known.get(run.run_id)?.status !== run.status);
    const work = async () => {
      for (let run = asked.shift(); run && !signal.aborted; run = asked.shift()) {
        const detail = await get(`/api/runs/${encodeURIComponent(run.run_id)}`, {}, signal).catch(() => null);
        if (detail) known.set(run.run_id, { status: detail.status, counts: detail.counts });
      }
    };
    await Promise.all(Array.from({ length: COUNTED_AT_ONCE }, work));
    busy = false;
    if (!signal.aborted) learned();
  };
  return { learn, of: (run) => known.get(run.run_id)?.counts };
}

/** What a run is called: its title, or what tells its id from others. */
export const nameOf = (run) => run.title ?? shortId(run.run_id);

const cancelChosen = (runs) => ask({
  title: runs.length === 1 ? t('runs.cancel_title', { run: nameOf(runs[0]) }) : t('runs.cancel_many', { n: runs.length }),
  what: [t('runs.cancel_what'), runs.length > 1 && naming(runs.map((run) => run.title ?? run.run_id))],
  confirm: t('runs.cancel_confirm', { n: runs.length }), keep: t(runs.length === 1 ? 'shell.keep_it' : 'shell.keep_them'), danger: true, reason: 'required',
  act: ({ reason }) => forEach(runs, (run) => post(`/api/runs/${encodeURIComponent(run.run_id)}/cancel`, undefined, { reason }), (n) => t('runs.cancelled_many', { n })),
});
