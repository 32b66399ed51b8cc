// Runs that are submitted by the clock: when, in which zone, what next, what last.

import { may, post, remove } from '../api.js';
import { readCron } from '../cron.js';
import { fill, h, say } from '../dom.js';
import { onceKey } from '../parts/act_button.js';
import { area, choice, hinted } from '../parts/form.js';
import { ask, field } from '../parts/dialog.js';
import { following } from '../parts/following.js';
import { firstOf } from '../parts/pages.js';
import { table } from '../parts/table.js';
import { why } from '../parts/why_link.js';
import { to } from '../router.js';
import { currentLanguage, moment, span, t } from '../text.js';
import { runOf } from './schedules/run.js';

const SCHEDULES_MAX = 1000;

export async function open({ root, title, signal, failed }) {
  const list = scheduleTable();
  const load = async () => list.set((await firstOf('/api/schedules', {}, { name: 'schedules', most: SCHEDULES_MAX, signal })).items);
  const add = may.operate() && h('button', { class: 'primary', onClick: async () => { if (await askForOne()) fresh.now(); } }, t('schedules.add'));
  fill(root, title(t('nav.schedules')), h('p', { class: 'quiet' }, t('schedules.lead')), h('div', { class: 'tools' }, add), list.element);
  const fresh = await following({ load, signal, failed, concerns: ({ kind }) => kind.startsWith('schedule_') });
  const ticking = setInterval(() => countDown(list.element), 1000);
  return () => { fresh.stop(); clearInterval(ticking); };
}

function scheduleTable() {
  return table({
    caption: t('nav.schedules'),
    empty: t('schedules.none'),
    id: (schedule) => schedule.schedule_id,
    columns: [
      { label: t('schedules.when'), show: when },
      { label: t('schedules.run'), show: what },
      { label: t('schedules.next'), show: next },
      { label: t('schedules.last'), show: last },
      { label: t('schedules.missed'), show: ({ missed }) => t(missed === 'once' ? 'schedules.missed_once' : 'schedules.missed_skip') },
      { label: t('schedules.acts'), show: acts },
    ],
  });
}

/** The expression in words where that is possible, and always as it is. */
function when({ cron, timezone }) {
  const words = inWords(cron);
  return [words && h('div', {}, words), h('div', { class: words ? 'quiet' : undefined }, h('code', {}, cron), ' ', h('span', { class: 'quiet' }, timezone))];
}

function inWords(cron) {
  const meaning = readCron(cron);
  if (!meaning) return null;
  const { form, days, minute, ...values } = meaning;
  const names = days && new Intl.ListFormat(currentLanguage(), { type: 'conjunction' }).format(days.map(dayName));
  return t(`schedules.cron_${form}`, { ...values, days: names, minute: String(minute ?? '').padStart(2, '0') });
}

/** The first of January 2023 was a Sunday. */
const dayName = (day) => new Intl.DateTimeFormat(currentLanguage(), { weekday: 'long', timeZone: 'UTC' }).format(Date.UTC(2023, 0, 1 + day));

const what = ({ run }) => [h('div', {}, run.title ?? run.workflow_id), h('div', { class: 'quiet' }, run.title && h('code', {}, run.workflow_id), ' ', scope(run.scope))];

function scope(given) {
  if (!given) return t('schedules.scope_all');
  if (given.pcs) return t('schedules.scope_pcs', { names: given.pcs.join(', ') });
  if (given.devices) return t('schedules.scope_devices', { n: given.devices.length });
  return t('schedules.scope_labels', { names: Object.entries(given.labels).map((pair) => pair.join('=')).join(', ') });
}

function next({ next_at: at }) {
  if (at === null) return t('schedules.never');
  return [h('time', { datetime: new Date(at).toISOString() }, moment(at)), h('div', { class: 'quiet', 'data-until': at }, until(at))];
}

const until = (at) => (at > Date.now() ? t('schedules.in', { span: span(at - Date.now()) }) : t('schedules.now'));

function countDown(element) {
  for (const line of element.querySelectorAll('[data-until]')) say(line, until(Number(line.dataset.until)));
}

const last = ({ last_run_id: run, last_slot: slot }) =>
  (run ? h('a', { href: to('runs', run) }, h('time', { datetime: new Date(slot).toISOString() }, moment(slot))) : t('schedules.not_yet'));

function acts(schedule) {
  const { schedule_id: id, run } = schedule;
  const end = async () => {
    await ask({
      title: t('schedules.delete_title', { name: run.title ?? run.workflow_id }),
      what: t('schedules.delete_what', { name: run.title ?? run.workflow_id, cron: schedule.cron, zone: schedule.timezone }),
      confirm: t('schedules.delete_confirm'),
      keep: t('shell.keep_it'),
      danger: true,
      reason: 'required',
      act: ({ reason }) => remove(`/api/schedules/${encodeURIComponent(id)}`, { reason }),
      done: t('schedules.deleted'),
    });
  };
  return h('span', { class: 'row-acts' },
    why('schedule', id, run.title ?? run.workflow_id),
    may.operate() && h('button', { class: 'danger', onClick: end }, t('schedules.delete')));
}

function askForOne() {
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone ?? 'UTC';
  const key = onceKey();
  return ask({
    title: t('schedules.add_title'),
    confirm: t('schedules.add'),
    reason: 'optional',
    fields: [
      hinted(field('cron', t('schedules.cron'), { required: true, class: 'mono', placeholder: '0 6 * * MON-FRI', autocomplete: 'off' }), t('schedules.cron_hint')),
      hinted(field('timezone', t('schedules.zone'), { required: true, value: zone, autocomplete: 'off' }), t('schedules.zone_hint')),
      choice('missed', t('schedules.missed'), [['skip', t('schedules.missed_skip')], ['once', t('schedules.missed_once')]]),
      field('run.workflow_id', t('schedules.workflow'), { required: true, class: 'mono', autocomplete: 'off' }),
      field('run.title', t('schedules.title'), { autocomplete: 'off' }),
      choice('scope', t('schedules.scope'), ['all', 'pcs', 'devices', 'labels'].map((way) => [way, t(`schedules.way_${way}`)])),
      hinted(field('run.scope', t('schedules.names'), { autocomplete: 'off' }), t('schedules.names_hint')),
      area('run.params', t('schedules.params'), { class: 'mono', placeholder: '{}' }),
    ],
    act: ({ reason, form }) => post('/api/schedules', runOf(form, t), { reason, once: key }),
    done: t('schedules.added'),
  });
}
