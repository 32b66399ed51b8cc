// What went wrong in a session: ranges made anew, frames dropped, files set apart, diagnostics.

import { get, may, post } from '../../api.js';
import { h } from '../../dom.js';
import { actButton } from '../../parts/act_button.js';
import { ask } from '../../parts/dialog.js';
import { area } from '../../parts/form.js';
import { placeOf } from '../../parts/links.js';
import { firstOf } from '../../parts/pages.js';
import { table } from '../../parts/table.js';
import { hasText, moment, number, t } from '../../text.js';
import { rangeText } from './frames_text.js';

const QUARANTINE_MAX = 5000;
const LINES = 100;
/** Kinds of diagnostics that people should see first; a worker's own message is the quiet case. */
const KIND_TONES = { given_up: 'bad', skipped: 'bad', ended: 'warn', worker: 'warn', quarantined: 'warn', retired: 'warn', split: 'warn' };

const range = () => ({ label: t('sessions.range'), show: ({ frameRange }) => h('span', { class: 'id' }, rangeText(frameRange)) });
const worker = (id) => h('a', { class: 'id', href: placeOf('worker', id) }, id);

/** Ranges that were given out anew, and frames that were dropped. */
export function replaysAndDrops() {
  const replays = table({
    caption: t('sessions.replays'), id: (replay) => `${replay.newChunkId}`, empty: t('sessions.no_replays'),
    columns: [range(), { label: t('sessions.old_ids'), number: true, show: (replay) => replay.retiredChunkId }, { label: t('sessions.new_ids'), number: true, show: (replay) => replay.newChunkId }],
  });
  const drops = table({
    caption: t('sessions.drops'), id: (drop) => `${drop.frameRange[0]} ${drop.workerId}`, empty: t('sessions.no_drops'),
    columns: [range(), { label: t('kind.worker'), show: (drop) => worker(drop.workerId) }, { label: t('sessions.dropped'), number: true, show: (drop) => number(drop.droppedFrames) }],
  });
  const element = h('div', { class: 'columns' },
    h('section', { class: 'low' }, h('h2', {}, t('sessions.replays')), replays.element), h('section', { class: 'low' }, h('h2', {}, t('sessions.drops')), drops.element));
  return { element, load: (session) => { replays.set(session.replays); drops.set(session.drops); } };
}

/** Files of the session that were set apart until a person has looked at them. */
export function quarantine(id, signal, changed) {
  const list = table({
    caption: t('sessions.quarantine'), id: (entry) => entry.id,
    columns: [
      { label: t('sessions.entry'), show: (entry) => h('code', {}, entry.id) },
      { label: t('sessions.at'), show: (entry) => moment(entry.at) },
      { label: t('kind.worker'), show: (entry) => worker(entry.workerId) },
      { label: t('sessions.path'), show: (entry) => h('code', {}, entry.path) },
      { label: t('sessions.files'), number: true, show: (entry) => number(entry.files) },
      { label: t('sessions.looked_at'), show: (entry) => lookedAt(entry, changed) },
    ],
  });
  const element = h('section', { hidden: true }, h('h2', {}, t('sessions.quarantine')), list.element);
  const load = async () => {
    const { items } = await firstOf('/api/v1/quarantine', {}, { name: 'entries', most: QUARANTINE_MAX, signal });
    const own = items.filter((entry) => entry.sessionId === id);
    list.set(own);
    element.hidden = own.length === 0;
  };
  return { element, load };
}

function lookedAt(entry, changed) {
  if (entry.confirmed) return t('sessions.confirmed', { note: entry.note ?? '' });
  return actButton(t('sessions.confirm'), { allowed: may.operate(), act: () => confirm(entry, changed) }) ?? t('sessions.not_yet');
}

async function confirm(entry, changed) {
  const isDone = await ask({
    title: t('sessions.confirm_title', { entry: entry.id }), what: t('sessions.confirm_what', { n: entry.files, path: entry.path }), confirm: t('sessions.confirm'),
    fields: [area('note', t('sessions.note'), { required: true, maxlength: 1000, rows: 2 })], done: t('sessions.confirm_done'),
    act: ({ form }) => post(`/api/v1/quarantine/${encodeURIComponent(entry.id)}/confirm`, { note: form.get('note') }),
  });
  if (isDone) changed();
}

/** What the workers and the server reported about the session, newest first (S20b). */
export function diagnostics(path, signal) {
  const list = table({
    caption: t('sessions.diagnostics'), id: (line) => `${line.place}`, empty: t('sessions.no_diagnostics'),
    columns: [
      { label: t('sessions.at'), show: (line) => moment(line.at) },
      { label: t('sessions.kind'), show: (line) => kindOf(line) },
      { label: t('kind.worker'), show: (line) => (line.workerId ? worker(line.workerId) : '–') },
      { label: t('kind.range'), show: (line) => (line.taskId ? h('code', {}, line.taskId) : '–') },
      { label: t('sessions.said'), show: (line) => h('span', { class: 'cause' }, line.text) },
    ],
  });
  const load = async () => {
    const page = await get(`${path}/diagnostics`, { limit: LINES }, signal);
    const count = page.diagnostics.length;
    list.set(page.diagnostics.map((line, place) => ({ ...line, place: count - place })));
  };
  return { element: h('section', { class: 'low' }, h('h2', {}, t('sessions.diagnostics')), list.element), load };
}

/** Servers of an older version tell of the workers' own messages alone, and name no kind. */
function kindOf({ kind = 'message' }) {
  const word = hasText(`sessions.kind_${kind}`) ? t(`sessions.kind_${kind}`) : kind;
  return kind === 'message' ? h('span', { class: 'quiet' }, word) : h('span', { class: `badge ${KIND_TONES[kind] ?? 'none'}` }, word);
}
