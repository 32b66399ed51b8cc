// The rows of a run: one per device.

import { get } from '../../api.js';
import { h } from '../../dom.js';
import { badge } from '../../parts/badge.js';
import { perform } from '../../parts/dialog.js';
import { filter, searchBox } from '../../parts/fields.js';
import { firstOf } from '../../parts/pages.js';
import { lasting, took } from '../../parts/since.js';
import { sparing } from '../../parts/sparing.js';
import { table } from '../../parts/table.js';
import { view } from '../../parts/viewer.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { hasText, moment, statusWord, t } from '../../text.js';

const PAGE = 100;
/** A search looks through the whole run, up to so many rows. */
const SEARCHED_MAX = 20000;
const STATUSES = ['pending', 'running', 'completed', 'failed', 'cancelled'];

/** The rows with their filters. */
export function rowsOf(path, signal) {
  let status = '';
  let wanted = '';
  let most = PAGE;
  let rows = [];
  let isMore = false;
  const list = table({ caption: t('runs.rows'), id: (row) => row.id, columns: columns(signal), empty: t('runs.no_rows') });
  const more = h('button', { hidden: true, onClick: () => { most += PAGE; perform(load); } }, t('shell.more'));
  const draw = () => {
    const found = rows.filter((row) => row.device_id.toLowerCase().includes(wanted));
    list.set(found.slice(0, most));
    more.hidden = !(isMore || found.length > most);
  };
  const load = async () => {
    const page = await firstOf(`${path}/task_devices`, { status }, { name: 'task_devices', most: wanted ? SEARCHED_MAX : most, signal });
    rows = page.items;
    isMore = page.more;
    draw();
  };
  const search = (text) => {
    wanted = text.trim().toLowerCase();
    draw();
    if (wanted && isMore) perform(load);
  };
  const choose = (value) => { status = value; most = PAGE; perform(load); };
  const element = h('section', {}, h('h2', {}, t('runs.rows')),
    h('div', { class: 'tools' }, searchBox(t('runs.search_device'), '', search),
      filter('row_status', t('shell.filter_status'), [['', t('shell.all')], ...STATUSES.map((word) => [word, statusWord(word)])], '', choose)),
    list.element, more);
  const spared = sparing(load);
  return { element, load: (run) => spared.load(undefined, run.completed_at !== null), stop: spared.stop };
}

function columns(signal) {
  return [
    { label: t('kind.device'), show: (row) => h('a', { class: 'id', href: to('fleet', 'device', row.device_id) }, row.device_id) },
    { label: t('shell.filter_status'), show: (row) => badge(row.status) },
    { label: t('runs.node'), show: (row) => (row.pc_id ? h('a', { class: 'id', href: to('fleet', 'node', row.pc_id) }, row.pc_id) : '–') },
    { label: t('runs.attempt'), number: true, show: (row) => t('runs.attempt_of', { n: row.attempt, of: row.max_attempts }) },
    { label: t('runs.duration'), number: true, show: (row) => lasting(row.started_at, row.completed_at ?? (row.status === 'running' ? null : row.started_at)) },
    { label: t('runs.error'), show: (row) => h('span', { class: 'cause' }, row.error ?? '') },
    { label: t('runs.do'), show: (row) => actsOf(row, signal) },
  ];
}

function actsOf(row, signal) {
  const open = () => perform(() => showHistory(row, signal));
  return h('span', { class: 'row-acts' },
    h('button', { 'aria-label': t('runs.history_of', { device: row.device_id }), onClick: open }, t('runs.history')),
    why('task_device', row.id, row.device_id));
}

/** What happened to a row, station by station. */
async function showHistory(row, signal) {
  const { history } = await get(`/api/task_devices/${encodeURIComponent(row.id)}/history`, {}, signal);
  const stations = table({
    caption: t('runs.history'), id: (station) => `${station.place}`,
    columns: [
      { label: t('runs.when'), show: (station) => moment(station.at) },
      { label: t('runs.after'), number: true, show: (station) => `+${took(station.at - history[0].at)}` },
      { label: t('runs.attempt'), number: true, show: (station) => station.attempt_no },
      { label: t('runs.station'), show: (station) => h('span', { class: `level-${station.level}` }, stationWord(station.event_type)) },
      { label: t('runs.message'), show: (station) => h('span', { class: 'cause' }, station.message ?? '') },
    ],
  });
  stations.set(history.map((station, place) => ({ ...station, place })));
  view({ title: t('runs.history_of', { device: row.device_id }), wide: true, content: [stations.element, h('p', { class: 'quiet' }, h('code', {}, row.id))] });
}

const stationWord = (type) => (hasText(`runs.station_${type}`) ? t(`runs.station_${type}`) : type);
