// One job: what was asked, what came of it, and what proves it.

import { get } from '../../api.js';
import { fill, h, say } from '../../dom.js';
import { badge } from '../../parts/badge.js';
import { following } from '../../parts/following.js';
import { growing, lasting } from '../../parts/since.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { moment, number, t } from '../../text.js';
import { cancelJobs, isOpen } from '../jobs.js';
import { receiptPart } from './receipt.js';
import { canRetry, retryJobs } from './retry.js';

const ASSIGNMENTS_PER_JOB = 64;

/** Opens the page of a job. */
export async function openJob({ root, title, signal, failed }, id) {
  const path = `/jobs/${encodeURIComponent(id)}`;
  let job = await get(path, {}, signal);
  let feed;
  const top = header(() => job, () => feed.now());
  const facts = h('dl', { class: 'facts' });
  const waits = h('p', { class: 'banner' });
  const payload = json('payload');
  const output = json('output');
  const metrics = json('metrics');
  const receipt = receiptPart(path, signal);
  fill(root, h('p', { class: 'crumbs' }, h('a', { href: to('jobs') }, t('nav.jobs'))),
    h('div', { class: 'heading' }, title(t('jobs.job_n', { id: String(job.id) })), top.element),
    waits, h('section', { class: 'card', 'aria-label': t('jobs.state') }, facts),
    h('div', { class: 'columns' }, payload.element, output.element, metrics.element), receipt.element);
  const load = async () => {
    job = await get(path, {}, signal);
    top.set();
    fill(facts, factsOf(job));
    say(waits, job.explanation ?? '');
    waits.hidden = !job.explanation;
    payload.set(job.payload);
    output.set(job.output);
    metrics.set(job.metrics_json);
    await receipt.load(job);
  };
  feed = await following({ load, failed, signal, concerns: concerning(Number(id)) });
  const still = growing(root);
  return () => { feed.stop(); still(); };
}

/** Which entries of the feed are about a job: assignments carry its number in theirs. */
const concerning = (id) => ({ kind, body }) => {
  if (kind === 'pool_assigned' || kind === 'pool_assignments_over') return body.assignments?.some((assignment) => Math.floor(assignment / ASSIGNMENTS_PER_JOB) === id);
  return kind === 'pool_jobs_ended' && [body.completed, body.failed, body.cancelled].some((jobs) => jobs?.includes(id));
};

function header(current, changed) {
  const standing = h('span', {});
  const act = (what) => async () => { if (await what([current()])) changed(); };
  const cancel = h('button', { class: 'danger', onClick: act(cancelJobs) }, t('jobs.cancel'));
  const retry = h('button', { onClick: act(retryJobs) }, t('jobs.retry'));
  const element = h('div', { class: 'doing' }, standing, why('job', String(current().id)), retry, cancel);
  const set = () => {
    const job = current();
    if (standing.dataset.status !== job.status) fill(standing, badge(job.status));
    standing.dataset.status = job.status;
    cancel.hidden = !isOpen(job);
    retry.hidden = !canRetry(job);
  };
  set();
  return { element, set };
}

function factsOf(job) {
  const facts = [
    [t('jobs.created'), moment(job.created_at)],
    job.finished_at && [t('jobs.finished'), moment(job.finished_at)],
    [t('jobs.duration'), lasting(job.created_at, job.finished_at)],
    [t('jobs.priority'), number(job.priority)],
    [t('jobs.region'), job.region ?? t('jobs.anywhere')],
    job.output_hash && [t('jobs.output_hash'), h('code', {}, job.output_hash)],
    job.artifact_uri && [t('jobs.artifact'), h('code', {}, job.artifact_uri)],
    job.error_message && [t('jobs.error'), h('span', { class: 'error' }, job.error_message)],
  ];
  return facts.filter(Boolean).map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]);
}

/** A JSON document under its heading; nothing where there is none. */
function json(name) {
  const text = h('pre', { tabindex: '0', 'aria-label': t(`jobs.${name}`) });
  const element = h('section', {}, h('h2', {}, t(`jobs.${name}`)), text);
  const set = (value) => {
    element.hidden = value === null || value === undefined;
    say(text, JSON.stringify(value, null, 2) ?? '');
  };
  return { element, set };
}
