// One run: how far it is, where, what failed and when.

import { get, may, post } from '../../api.js';
import { fill, h, say } from '../../dom.js';
import { actButton } from '../../parts/act_button.js';
import { ask } from '../../parts/dialog.js';
import { following } from '../../parts/following.js';
import { ROW_PARTS, bar, withWaiting } from '../../parts/progress.js';
import { runBadge, runOutcome } from '../../parts/result.js';
import { growing, lasting } from '../../parts/since.js';
import { sparing } from '../../parts/sparing.js';
import { table } from '../../parts/table.js';
import { tally } from '../../parts/tally.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { moment, number, percent, span, statusWord, t } from '../../text.js';
import { isOpen, nameOf } from '../runs.js';
import { reasonLine } from '../why/reason.js';
import { artifacts } from './artifacts.js';
import { retryChosen, retryReason } from './retry.js';
import { rowsOf } from './rows.js';
import { timeline } from './timeline.js';

/** PC-2 comes before PC-10. */
const BY_NUMBER = new Intl.Collator('en', { numeric: true });

/** Opens the page of a run. */
export async function openRun({ root, title, signal, failed }, id) {
  const path = `/api/runs/${encodeURIComponent(id)}`;
  let run = await get(path, {}, signal);
  const top = header(() => run, signal);
  const counts = figures();
  const reasons = failures(() => run, path, signal);
  const waits = reasonLine('run', id, signal);
  const parts = [reasons, timeline(path, signal), rowsOf(path, signal), artifacts(path, signal)];
  fill(root, h('p', { class: 'crumbs' }, h('a', { href: to('runs') }, t('nav.runs'))),
    h('div', { class: 'heading' }, title(run.title ?? run.run_id), top.element),
    waits.element, counts.element, h('div', { class: 'columns' }, counts.nodes, reasons.element), parts.slice(1).map((part) => part.element));
  const load = async () => {
    run = await get(path, {}, signal);
    top.set();
    counts.set(run);
    const isIdle = isOpen(run) && run.counts.running === 0;
    waits.element.hidden ||= !isIdle;
    await Promise.all([isIdle && waits.load(), ...parts.map((part) => part.load(run))]);
  };
  const own = `${id}.`;
  const feed = await following({ load, failed, signal, concerns: ({ body }) => body.job === id || Boolean(body.task?.startsWith?.(own)) });
  const still = growing(root);
  return () => { feed.stop(); still(); for (const part of parts) part.stop?.(); };
}

/** Status and what can be done. */
function header(current, signal) {
  const standing = h('span', {});
  const cancel = actButton(t('runs.cancel'), { allowed: may.operate(), kind: 'danger', act: () => cancelRun(current()) });
  const retry = actButton(t('runs.retry_failed'), { allowed: may.operate(), act: () => retryChosen([current()], signal) });
  const element = h('div', { class: 'doing' }, standing, why('run', current().run_id), retry, cancel);
  const set = () => {
    const run = current();
    const outcome = runOutcome(run);
    const now = h('span', {}, runBadge(run), outcome && h('span', { class: 'quiet outcome' }, ` ${outcome}`));
    if (!standing.firstChild?.isEqualNode(now)) fill(standing, now);
    if (cancel) cancel.hidden = !isOpen(run);
    if (retry) retry.hidden = isOpen(run) || run.counts.failed === 0;
  };
  set();
  return { element, set };
}

function cancelRun(run) {
  const { pending, running } = withWaiting(run.counts, run.total);
  return ask({
    title: t('runs.cancel_title', { run: nameOf(run) }), what: run.status === 'pending' ? t('runs.cancel_pending_what') : t('runs.cancel_one_what', { pending, running }),
    confirm: t('runs.cancel_confirm', { n: 1 }), keep: t('shell.keep_it'), danger: true, reason: 'required',
    act: ({ reason }) => post(`/api/runs/${encodeURIComponent(run.run_id)}/cancel`, undefined, { reason }), done: t('runs.cancelled_many', { n: 1 }),
  });
}

/** Progress as a whole, and by node. */
function figures() {
  const share = h('p', { class: 'figure' });
  const whole = tally({ label: t('runs.progress'), parts: ROW_PARTS.map(([key, tone]) => ({ key, tone, label: statusWord(key) })) });
  const facts = h('dl', { class: 'facts' });
  const element = h('section', { class: 'card run-top', 'aria-label': t('runs.progress') }, h('div', { class: 'whole' }, share, whole.element), facts);
  const perNode = table({
    caption: t('runs.per_node'), id: (row) => row.pc,
    columns: [
      { label: t('runs.node'), show: (row) => h('a', { class: 'id', href: to('fleet', 'node', row.pc) }, row.pc) },
      { label: t('runs.progress'), show: (row) => bar(row) },
      ...ROW_PARTS.map(([status]) => ({ label: t(`runs.short_${status}`), number: true, show: (row) => number(row[status]) })),
    ],
  });
  const set = (run) => {
    const counts = withWaiting(run.counts, run.total);
    say(share, percent(isOpen(run) ? endedPart(counts) : completedPart(counts)));
    whole.set(counts);
    fill(facts, factsOf(run));
    perNode.set(Object.entries(run.per_pc).sort(([one], [other]) => BY_NUMBER.compare(one, other)).map(([pc, counts]) => ({ pc, ...counts })));
  };
  return { element, nodes: h('section', { class: 'low' }, h('h2', {}, t('runs.per_node')), perNode.element), set };
}

function endedPart({ pending, running, completed, failed, cancelled }) {
  const ended = completed + failed + cancelled;
  return ended / Math.max(1, ended + pending + running);
}

/** Of a run that is over, only what was completed counts: a partial one is not at 100 %. */
const completedPart = (counts) => counts.completed / Math.max(1, Object.values(counts).reduce((sum, count) => sum + count, 0));

function factsOf(run) {
  const facts = [
    [t('runs.workflow'), h('code', {}, run.workflow_id)],
    [t('runs.queue'), run.queue],
    [t('runs.created'), moment(run.created_at)],
    [t('runs.duration'), lasting(run.started_at, run.completed_at ?? (isOpen(run) ? null : run.started_at))],
    isOpen(run) && [t('runs.eta'), run.eta_ms === null ? t('runs.eta_unknown') : t('runs.eta_in', { span: span(run.eta_ms), at: moment(Date.now() + run.eta_ms) })],
    run.rate_per_min > 0 && [t('runs.rate'), t('runs.per_minute', { n: run.rate_per_min })],
    [t('runs.attempts'), number(run.max_attempts)],
    run.schedule_id && [t('kind.schedule'), h('a', { href: to('schedules', run.schedule_id) }, run.schedule_id)],
    run.error && [t('runs.error'), h('span', { class: 'error' }, run.error)],
    [t('runs.id'), h('code', {}, run.run_id)],
  ];
  return facts.filter(Boolean).map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]);
}

/** What failed, by reason, with a way to try it again. */
function failures(current, path, signal) {
  const list = table({
    caption: t('runs.failures'), id: (failure) => failure.error, empty: t('runs.no_failures'),
    columns: [
      { label: t('runs.reason'), show: (failure) => h('span', { class: 'cause' }, failure.error) },
      { label: t('runs.devices'), number: true, show: (failure) => number(failure.count) },
      may.operate() && { label: t('runs.do'), show: (failure) => actButton(t('runs.retry'), { allowed: true, act: () => retryReason(current(), failure) }) },
    ].filter(Boolean),
  });
  const spared = sparing(async () => list.set(current().counts.failed ? (await get(`${path}/failures`, {}, signal)).failures : []));
  const element = h('section', { class: 'low' }, h('h2', {}, t('runs.failures')), list.element);
  return { element, load: (run) => spared.load(undefined, run.completed_at !== null), stop: spared.stop };
}
