// When a run's attempts were made, device by device.

import { h, say } from '../../dom.js';
import { gantt } from '../../parts/gantt.js';
import { firstOf } from '../../parts/pages.js';
import { sparing } from '../../parts/sparing.js';
import { to } from '../../router.js';
import { hasText, moment, t } from '../../text.js';

const DEVICES = 200;
const ATTEMPTS_MAX = 20000;
const TONE = { succeeded: 'good', cancelled: 'none' };
const MARK = { failed: '×', timeout: '⌛', cancelled: '–' };

/** The attempts of a run as a chart, `DEVICES` devices at a time. */
export function timeline(path, signal) {
  const chart = gantt({ caption: t('runs.timeline'), rowLabel: t('kind.device'), href: (device) => to('fleet', 'device', device) });
  const where = h('span', { class: 'quiet' });
  const back = h('button', { onClick: () => turn(-1) }, t('shell.before'));
  const on = h('button', { onClick: () => turn(1) }, t('shell.after'));
  let attempts = [];
  let page = 0;
  let ended = false;

  const draw = () => {
    const devices = [...new Set(attempts.map((attempt) => attempt.device_id))].sort();
    const pages = Math.max(1, Math.ceil(devices.length / DEVICES));
    page = Math.min(page, pages - 1);
    const shown = devices.slice(page * DEVICES, (page + 1) * DEVICES);
    const isShown = new Set(shown);
    chart.set(attempts.filter((attempt) => isShown.has(attempt.device_id)).map(barOf).sort((one, other) => (one.row < other.row ? -1 : one.row > other.row ? 1 : one.from - other.from)));
    say(where, t('runs.devices_of', { from: shown.length ? page * DEVICES + 1 : 0, to: page * DEVICES + shown.length, total: devices.length }));
    back.hidden = on.hidden = pages === 1;
    back.disabled = page === 0;
    on.disabled = page === pages - 1;
  };
  const turn = (by) => { page += by; draw(); };
  const load = async (run) => {
    const found = await firstOf(`${path}/attempts`, {}, { name: 'attempts', most: ATTEMPTS_MAX, signal });
    ended = run.completed_at !== null;
    attempts = found.items;
    element.hidden = attempts.length === 0;
    draw();
  };
  const spared = sparing(load);
  const element = h('section', { class: 'card', hidden: true }, h('div', { class: 'heading' }, h('h2', {}, t('runs.timeline')), h('div', { class: 'doing' }, where, back, on, chart.toggle)), chart.element);
  const follow = (run) => (ended ? undefined : spared.load(run, run.completed_at !== null));
  return { element, load: follow, stop: () => { spared.stop(); chart.stop(); } };
}

function barOf(attempt) {
  const isRunning = attempt.ended_at === null;
  const outcome = outcomeWord(isRunning ? 'running' : attempt.outcome);
  const span = isRunning ? moment(attempt.started_at) : `${moment(attempt.started_at)} – ${moment(attempt.ended_at)}`;
  return {
    id: `${attempt.task_device_id} ${attempt.attempt}`, row: attempt.device_id, from: attempt.started_at, to: attempt.ended_at ?? null,
    tone: isRunning ? 'busy' : TONE[attempt.outcome] ?? 'bad', mark: isRunning ? undefined : MARK[attempt.outcome],
    kind: outcome,
    words: t('runs.attempt_words', { device: attempt.device_id, node: attempt.pc_id, attempt: attempt.attempt, span, outcome: attempt.error ? t('runs.outcome_why', { outcome, why: attempt.error }) : outcome }),
  };
}

const outcomeWord = (outcome) => (hasText(`runs.outcome_${outcome}`) ? t(`runs.outcome_${outcome}`) : String(outcome));
