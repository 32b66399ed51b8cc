// Jobs of the pool: a client sees its own, an ADMIN all. The list here; one job in jobs/detail.js.

import { may, me, remove } from '../api.js';
import { fill, h } from '../dom.js';
import { actButton } from '../parts/act_button.js';
import { keepInAddress } from '../parts/address.js';
import { badge } from '../parts/badge.js';
import { bulkBar, forEach, naming } from '../parts/bulk.js';
import { ask } from '../parts/dialog.js';
import { filter, searchBox } from '../parts/fields.js';
import { following } from '../parts/following.js';
import { firstOf } from '../parts/pages.js';
import { growing, lasting } from '../parts/since.js';
import { table } from '../parts/table.js';
import { to } from '../router.js';
import { moment, number, statusWord, t } from '../text.js';
import { openJob } from './jobs/detail.js';
import { newJob } from './jobs/new.js';
import { canRetry, retryJobs } from './jobs/retry.js';

const PAGE = 100;
const SHOWN_CHARS = 90;
const STATUSES = ['queued', 'running', 'completed', 'failed', 'cancelled'];

export const open = (context) => (context.args[0] ? openJob(context, context.args[0]) : openList(context));

/** Whether a job can still change. */
export const isOpen = ({ status }) => status === 'queued' || status === 'running';

async function openList({ root, title, query, signal, failed }) {
  const view = { status: query.get('status') ?? '', q: query.get('q') ?? '' };
  let jobs = [];
  let most = PAGE;
  let feed;
  const bulk = bulkBar([
    { label: t('jobs.retry'), allowed: (chosen) => chosen.some(canRetry), why: t('jobs.retry_why_not'), act: async (chosen) => { if (await retryJobs(chosen.filter(canRetry))) feed.now(); } },
    { label: t('jobs.cancel'), danger: true, allowed: (chosen) => chosen.some(isOpen), why: t('jobs.cancel_why_not'), act: async (chosen) => { if (await cancelJobs(chosen.filter(isOpen))) feed.now(); } },
  ]);
  const list = table({ caption: t('nav.jobs'), id: (job) => `${job.id}`, columns: columns(), pick: bulk.set, empty: t('jobs.none') });
  const more = h('button', { onClick: () => { most += PAGE; feed.now(); } }, t('shell.more'));
  const draw = () => {
    const wanted = view.q.toLowerCase();
    list.set(jobs.filter((job) => textOf(job).includes(wanted)));
  };
  const load = async () => {
    const page = await firstOf('/jobs', { status: view.status }, { name: 'jobs', most, signal });
    jobs = page.items;
    more.hidden = !page.more;
    draw();
  };
  const choose = (value) => { view.status = value; most = PAGE; keepInAddress(view); feed.now(); };
  fill(root,
    h('div', { class: 'heading' }, title(t('nav.jobs')), actButton(t('jobs.new'), { allowed: may.useJobs(), kind: 'primary', act: newJob })),
    h('p', { class: 'quiet' }, may.administer() ? t('jobs.lead_all') : t('jobs.lead_own', { name: me.username })),
    h('div', { class: 'tools' }, searchBox(t('jobs.search'), view.q, (text) => { view.q = text; keepInAddress(view); draw(); }),
      filter('status', t('shell.filter_status'), [['', t('shell.all')], ...STATUSES.map((status) => [status, statusWord(status)])], view.status, choose)),
    bulk.element, list.element, more);
  feed = await following({ load, failed, signal, concerns: ({ kind }) => kind.startsWith('pool_jobs_') || kind === 'pool_assigned' });
  const still = growing(root);
  return () => { feed.stop(); still(); };
}

const textOf = (job) => `${job.id} ${JSON.stringify(job.payload)} ${job.error_message ?? ''} ${job.region ?? ''}`.toLowerCase();

function columns() {
  return [
    { label: t('kind.job'), number: true, show: (job) => h('a', { class: 'name', href: to('jobs', job.id) }, String(job.id)) },
    { label: t('shell.filter_status'), show: (job) => badge(job.status) },
    { label: t('jobs.payload'), show: (job) => [h('code', {}, shorten(JSON.stringify(job.payload))), job.error_message && h('span', { class: 'under error' }, job.error_message)] },
    { label: t('jobs.priority'), number: true, show: (job) => number(job.priority) },
    { label: t('jobs.region'), show: (job) => job.region ?? t('jobs.anywhere') },
    { label: t('jobs.created'), show: (job) => h('time', { datetime: job.created_at }, moment(job.created_at)) },
    { label: t('jobs.duration'), number: true, show: (job) => lasting(job.created_at, job.finished_at) },
  ];
}

const shorten = (text) => (text.length > SHOWN_CHARS ? `${text.slice(0, SHOWN_CHARS)}…` : text);

/** Asks, and cancels all of them. */
export const cancelJobs = (jobs) => ask({
  title: jobs.length === 1 ? t('jobs.cancel_title', { id: String(jobs[0].id) }) : t('jobs.cancel_many', { n: jobs.length }),
  what: [t('jobs.cancel_what'), jobs.length > 1 && naming(jobs.map((job) => t('jobs.job_n', { id: String(job.id) })))],
  confirm: t('jobs.cancel_confirm', { n: jobs.length }), keep: t(jobs.length === 1 ? 'shell.keep_it' : 'shell.keep_them'), danger: true, reason: 'required',
  act: ({ reason }) => forEach(jobs, (job) => remove(`/jobs/${job.id}`, { reason }), (n) => t('jobs.cancelled_many', { n })),
});
