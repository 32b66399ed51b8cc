// The ranges of a session: when and by whom they were made.

import { h, say } from '../../dom.js';
import { badge } from '../../parts/badge.js';
import { gantt } from '../../parts/gantt.js';
import { placeOf } from '../../parts/links.js';
import { firstOf } from '../../parts/pages.js';
import { lasting } from '../../parts/since.js';
import { sparing } from '../../parts/sparing.js';
import { table } from '../../parts/table.js';
import { why } from '../../parts/why_link.js';
import { number, statusWord, t } from '../../text.js';

const PAGE = 100;
/** The chart shows the ranges given out last. */
const BARS_MAX = 1000;
const READ_MAX = 20000;
const TONE = { completed: 'good', running: 'busy', assigned: 'busy', lost: 'bad', failed: 'bad', cancelled: 'none', pending: 'warn' };

/** The chart by worker, and the table. */
export function tasks(path, signal) {
  const chart = gantt({ caption: t('sessions.by_time'), rowLabel: t('kind.worker'), href: (worker) => placeOf('worker', worker) });
  const list = table({ caption: t('sessions.tasks'), id: (task) => task.taskId, columns: columns(), empty: t('sessions.no_tasks') });
  const note = h('span', { class: 'quiet' });
  const more = h('button', { hidden: true, onClick: () => { shown += PAGE; draw(); } }, t('shell.more'));
  let all = [];
  let shown = PAGE;
  let ended = false;
  const draw = () => {
    list.set(all.slice(0, shown));
    more.hidden = all.length <= shown;
  };
  const load = async (session) => {
    const { items } = await firstOf(`${path}/tasks`, {}, { name: 'tasks', most: READ_MAX, signal });
    ended = session.endedAt !== null;
    all = items;
    const latest = [...items].sort((one, other) => other.grantedAt - one.grantedAt).slice(0, BARS_MAX);
    chart.set(latest.map(barOf).sort((one, other) => one.row.localeCompare(other.row) || one.from - other.from));
    say(note, items.length > BARS_MAX ? t('sessions.latest', { n: BARS_MAX, total: items.length }) : '');
    draw();
  };
  const element = h('div', {},
    h('section', { class: 'card' }, h('div', { class: 'heading' }, h('h2', {}, t('sessions.by_time')), h('div', { class: 'doing' }, note, chart.toggle)), chart.element),
    h('section', {}, h('h2', {}, t('sessions.tasks')), list.element, more));
  const spared = sparing(load);
  const follow = (session) => (ended ? undefined : spared.load(session, session.endedAt !== null));
  return { element, load: follow, stop: () => { spared.stop(); chart.stop(); } };
}

function barOf(task) {
  const isHeld = task.status === 'assigned' || task.status === 'running';
  const [from, to] = task.frameRange;
  return {
    id: task.taskId, row: task.workerId, from: task.grantedAt, to: isHeld ? null : task.endedAt ?? task.grantedAt, tone: TONE[task.status] ?? 'none',
    mark: task.attempt > 1 ? '↻' : task.status === 'lost' ? '×' : undefined,
    words: t('sessions.bar_words', { from: String(from), to: String(to - 1), worker: task.workerId, attempt: task.attempt, status: statusWord(task.status) }),
  };
}

function columns() {
  return [
    { label: t('sessions.range'), show: ({ frameRange: [from, to] }) => h('span', { class: 'id' }, t('sessions.range_of', { from: String(from), to: String(to - 1) })) },
    { label: t('shell.filter_status'), show: (task) => badge(task.status) },
    { label: t('kind.worker'), show: (task) => (task.workerId ? h('a', { class: 'id', href: placeOf('worker', task.workerId) }, task.workerId) : '–') },
    { label: t('sessions.attempt'), number: true, show: (task) => number(task.attempt) },
    { label: t('sessions.ids'), number: true, show: (task) => task.globalIdChunk?.chunkId ?? '–' },
    { label: t('sessions.dropped'), number: true, show: (task) => number(task.droppedFrames) },
    { label: t('sessions.duration'), number: true, show: (task) => lasting(task.grantedAt, task.endedAt ?? (task.status === 'pending' ? task.grantedAt : null)) },
    { label: t('sessions.error'), show: (task) => h('span', { class: 'cause' }, task.error ?? '') },
    { label: t('sessions.do'), show: (task) => h('span', { class: 'row-acts' }, why('range', task.taskId)) },
  ];
}
