// Runs: a workflow over many devices. The list here; one run in runs/detail.js.

import { may, post } from '../api.js';
import { fill, h } from '../dom.js';
import { actButton } from '../parts/act_button.js';
import { keepInAddress } from '../parts/address.js';
import { bulkBar, forEach, naming } from '../parts/bulk.js';
import { ask } from '../parts/dialog.js';
import { filter, searchBox } from '../parts/fields.js';
import { following } from '../parts/following.js';
import { shortId } from '../parts/links.js';
import { firstOf } from '../parts/pages.js';
import { bar, withWaiting } from '../parts/progress.js';
import { runBadge, runOutcome } from '../parts/result.js';
import { growing, lasting } from '../parts/since.js';
import { table } from '../parts/table.js';
import { to } from '../router.js';
import { listing, moment, statusWord, t } from '../text.js';
import { openRun } from './runs/detail.js';
import { newRun } from './runs/new.js';
import { retryChosen } from './runs/retry.js';

const PAGE = 50;
const STATUSES = ['pending', 'running', 'success', 'failed', 'cancelled'];

export const open = (context) => (context.args[0] ? openRun(context, context.args[0]) : openList(context));

/** Whether a run can still change. */
export const isOpen = ({ status }) => status === 'pending' || status === 'running';

async function openList({ root, title, query, signal, failed }) {
  const view = { status: query.get('status') ?? '', queue: query.get('queue') ?? '', q: query.get('q') ?? '' };
  let runs = [];
  let most = PAGE;
  let feed;
  const bulk = bulkBar(may.operate() && [
    { label: t('runs.retry_failed'), allowed: (chosen) => chosen.some((run) => !isOpen(run)), why: t('runs.retry_why_not'), act: (chosen) => retryChosen(chosen.filter((run) => !isOpen(run)), signal) },
    { label: t('runs.cancel'), danger: true, allowed: (chosen) => chosen.some(isOpen), why: t('runs.cancel_why_not'), act: (chosen) => cancelChosen(chosen.filter(isOpen)) },
  ]);
  const list = table({ caption: t('nav.runs'), id: (run) => run.run_id, columns: columns(), pick: bulk.set, empty: t('runs.none') });
  const more = h('button', { onClick: () => { most += PAGE; feed.now(); } }, t('shell.more'));
  const queues = queueFilter(view, () => change({ most: PAGE }));
  const draw = () => {
    const wanted = view.q.toLowerCase();
    const shown = runs.filter((run) => `${run.title ?? ''} ${run.run_id} ${run.workflow_id}`.toLowerCase().includes(wanted));
    list.set(shown);
  };
  const load = async () => {
    const page = await firstOf('/api/runs', { status: view.status, queue: view.queue }, { name: 'runs', most, signal });
    runs = page.items;
    more.hidden = !page.more;
    queues.learn(runs);
    draw();
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
  feed = await following({ load, failed, signal, concerns: ({ kind }) => kind.startsWith('job_') || kind === 'task_leased' || kind === 'task_ended' });
  const still = growing(root);
  return () => { feed.stop(); still(); };
}

const heading = (title) => h('div', { class: 'heading' }, title(t('nav.runs')),
  actButton(t('runs.new'), { allowed: may.operate(), kind: 'primary', act: newRun }));

function columns() {
  return [
    { label: t('runs.title'), show: (run) => [h('a', { class: 'name', href: to('runs', run.run_id) }, run.title ?? run.run_id), h('span', { class: 'under' }, run.workflow_id)] },
    { label: t('shell.filter_status'), show: (run) => [runBadge(run), runOutcome(run) && h('span', { class: 'under outcome' }, runOutcome(run))] },
    { label: t('runs.progress'), show: progressOf },
    { label: t('runs.queue'), show: (run) => run.queue },
    { label: t('runs.created'), show: (run) => h('time', { datetime: new Date(run.created_at).toISOString() }, moment(run.created_at)) },
    { label: t('runs.duration'), number: true, show: (run) => lasting(run.started_at, run.completed_at ?? (isOpen(run) ? null : run.started_at)) },
  ];
}

function progressOf({ counts, total }) {
  if (total === 0) return t('runs.no_devices');
  const done = total === null ? t('runs.done', { done: counts.completed }) : t('runs.done_of', { done: counts.completed, total });
  const others = ['running', 'failed', 'cancelled'].filter((status) => counts[status] > 0).map((status) => t('overview.count_of', { n: counts[status], what: statusWord(status) }));
  return [bar(withWaiting(counts, total)), h('span', { class: 'under' }, listing([done, ...others]))];
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

/** What a run is called: its title, or what tells its id from others. */
export const nameOf = (run) => run.title ?? shortId(run.run_id);

const cancelChosen = (runs) => ask({
  title: runs.length === 1 ? t('runs.cancel_title', { run: nameOf(runs[0]) }) : t('runs.cancel_many', { n: runs.length }),
  what: [t('runs.cancel_what'), runs.length > 1 && naming(runs.map((run) => run.title ?? run.run_id))],
  confirm: t('runs.cancel_confirm', { n: runs.length }), keep: t(runs.length === 1 ? 'shell.keep_it' : 'shell.keep_them'), danger: true, reason: 'required',
  act: ({ reason }) => forEach(runs, (run) => post(`/api/runs/${encodeURIComponent(run.run_id)}/cancel`, undefined, { reason }), (n) => t('runs.cancelled_many', { n })),
});
