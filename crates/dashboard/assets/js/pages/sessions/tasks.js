// The ranges of a session: when and by whom they were made.

import { may } from '../../api.js';
import { h, say } from '../../dom.js';
import { badge } from '../../parts/badge.js';
import { gantt } from '../../parts/gantt.js';
import { placeOf } from '../../parts/links.js';
import { firstOf } from '../../parts/pages.js';
import { lasting } from '../../parts/since.js';
import { sparing } from '../../parts/sparing.js';
import { table } from '../../parts/table.js';
import { why } from '../../parts/why_link.js';
import { hasText, number, statusWord, t } from '../../text.js';
import { canRetire } from './allowed.js';
import { endedAttempts } from './attempts.js';
import { rangeText } from './frames_text.js';
import { retireChunk } from './retire.js';

const PAGE = 100;
/** The chart shows the ranges given out last. */
const BARS_MAX = 1000;
const READ_MAX = 20000;
const TONE = { completed: 'good', running: 'busy', assigned: 'busy', lost: 'warn', failed: 'bad', cancelled: 'none' };

const ANEW = '↻';
const LOST = '×';
const HELD_OR_DONE = ['assigned', 'running', 'completed'];
/** Ends that somebody wanted. */
const WANTED = ['given_back', 'retired', 'session_ended'];

/** The chart by worker, and the table; `changed` is called after something was done to a range. */
export function tasks(path, { signal, changed }) {
  const chart = gantt({ caption: t('sessions.by_time'), rowLabel: t('kind.worker'), href: (worker) => placeOf('worker', worker) });
  const list = table({ caption: t('sessions.tasks'), id: (task) => task.taskId, columns: columns(changed), empty: t('sessions.no_tasks') });
  const note = h('span', { class: 'quiet' });
  const more = h('button', { hidden: true, onClick: () => { shown += PAGE; draw(); } }, t('shell.more'));
  let all = [];
  let shown = PAGE;
  let drawnEnd = null;
  const draw = () => {
    list.set(all.slice(0, shown));
    more.hidden = all.length <= shown;
  };
  /** The ids of attempts that ended without a result; none where every range was given out once and is held or done. */
  const retired = async ({ sessionId: id }, items) => {
    if (items.every(({ attempt, status }) => attempt === 1 && HELD_OR_DONE.includes(status))) return [];
    return (await firstOf('/api/v1/chunks', { state: 'retired', session: id }, { name: 'chunks', most: READ_MAX, signal })).items;
  };
  const load = async (session) => {
    const { items } = await firstOf(`${path}/tasks`, {}, { name: 'tasks', most: READ_MAX, signal });
    drawnEnd = session.endedAt;
    all = items.map((task) => ({ ...task, isOpen: session.endedAt === null }));
    const over = endedAttempts(items, await retired(session, items));
    const isOver = new Set(over.map(({ taskId, attempt }) => `${taskId} ${attempt}`));
    const bars = [...items.filter((task) => task.status !== 'pending' && !isOver.has(`${task.taskId} ${task.attempt}`)).map(barOf), ...over.map(endOf)];
    const latest = bars.sort((one, other) => other.from - one.from).slice(0, BARS_MAX);
    chart.set(latest.sort((one, other) => one.row.localeCompare(other.row) || one.from - other.from));
    say(note, bars.length > BARS_MAX ? t('sessions.latest', { n: BARS_MAX, total: bars.length }) : '');
    draw();
  };
  const element = h('div', {},
    h('section', { class: 'card' }, h('div', { class: 'heading' }, h('h2', {}, t('sessions.by_time')), h('div', { class: 'doing' }, note, chart.toggle)), chart.element),
    h('section', {}, h('h2', {}, t('sessions.tasks')), list.element, more));
  const spared = sparing(load);
  // An ended session changes only when its failed frames are retried: then it is open again, or has ended at another time.
  const follow = (session) => (session.endedAt !== null && session.endedAt === drawnEnd ? undefined : spared.load(session, session.endedAt !== null));
  return { element, load: follow, stop: () => { spared.stop(); chart.stop(); } };
}

function barOf(task) {
  const isHeld = task.status === 'assigned' || task.status === 'running';
  const [from, to] = task.frameRange;
  return {
    id: task.taskId, row: task.workerId, from: task.grantedAt, to: isHeld ? null : task.endedAt ?? task.grantedAt, tone: TONE[task.status] ?? 'none',
    mark: task.attempt > 1 ? ANEW : task.status === 'lost' ? LOST : undefined, kind: task.attempt > 1 ? `${statusWord(task.status)}, ${t('sessions.key_anew')}` : statusWord(task.status),
    words: t('sessions.bar_words', { from: String(from), to: String(to - 1), worker: task.workerId, attempt: task.attempt, status: statusWord(task.status) }),
  };
}

/** An attempt that ended without a result, and why. */
function endOf({ taskId, workerId, attempt, frameRange: [first, end], from, to, reason }) {
  return {
    id: `${taskId} ${attempt}`, row: workerId, from, to, tone: WANTED.includes(reason) ? 'none' : 'bad', mark: LOST, kind: hasText(`status.${reason}`) ? statusWord(reason) : statusWord('failed'),
    words: t('sessions.bar_ended', { from: String(first), to: String(end - 1), worker: workerId, attempt, reason: statusWord(reason) }),
  };
}

function columns(changed) {
  return [
    { label: t('sessions.range'), show: ({ frameRange }) => h('span', { class: 'id' }, rangeText(frameRange)) },
    { label: t('shell.filter_status'), show: (task) => badge(task.status) },
    { label: t('kind.worker'), show: (task) => (task.workerId ? h('a', { class: 'id', href: placeOf('worker', task.workerId) }, task.workerId) : '–') },
    { label: t('sessions.attempt'), number: true, show: (task) => number(task.attempt) },
    { label: t('sessions.ids'), number: true, show: (task) => task.globalIdChunk?.chunkId ?? '–' },
    { label: t('sessions.dropped'), number: true, show: (task) => number(task.droppedFrames) },
    { label: t('sessions.duration'), number: true, show: (task) => lasting(task.grantedAt, task.endedAt ?? (task.status === 'pending' ? task.grantedAt : null)) },
    { label: t('sessions.error'), show: (task) => h('span', { class: 'cause' }, task.error ?? '') },
    { label: t('sessions.do'), show: (task) => h('span', { class: 'row-acts' }, why('range', task.taskId), may.operate() && canRetire(task) && retireButton(task, changed)) },
  ];
}

/** Its chunk and its frames are in its label: with others of them it is another button. */
function retireButton({ globalIdChunk: { chunkId: chunk }, frameRange: [from, end] }, changed) {
  const what = { chunk: String(chunk), from: String(from), to: String(end - 1) };
  return h('button', { 'aria-label': t('sessions.retire_chunk', what), onClick: async () => { if (await retireChunk(what)) changed(); } }, t('sessions.retire'));
}
