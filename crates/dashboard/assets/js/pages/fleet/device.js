// One device: how it stands and why, what it showed last, and every attempt on it.

import { get, getBlobUrl, may } from '../../api.js';
import { fill, h } from '../../dom.js';
import { onEntries } from '../../live.js';
import { badge } from '../../parts/badge.js';
import { isPicture } from '../../parts/gallery.js';
import { idLink } from '../../parts/links.js';
import { refresher } from '../../parts/refresh.js';
import { table } from '../../parts/table.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { moment, span, t } from '../../text.js';
import { reasonLine } from '../why/reason.js';
import { labelDevice, returnDevice } from './acts.js';

const EVERY_MS = 10000;
const ROWS = 100;

export async function devicePage(id, { root, title, signal }) {
  const path = `/api/devices/${encodeURIComponent(id)}`;
  const facts = h('dl', { class: 'facts' });
  const acts = h('div', { class: 'actions' });
  const reason = reasonLine('device', id, signal);
  const picture = screenshot(path, signal);
  const rows = attempts();
  fill(root,
    h('p', { class: 'crumbs' }, h('a', { href: to('fleet') }, t('nav.fleet'))),
    h('div', { class: 'headline' }, title(t('fleet.device_title', { id })), acts),
    h('div', { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, t('fleet.standing')), reason.element, facts),
      picture.element),
    h('h2', {}, t('fleet.attempts')), rows.element);
  const load = async () => {
    const [device, found] = await Promise.all([get(path, {}, signal), get(`${path}/task_devices`, { limit: ROWS }, signal).catch(missing)]);
    const list = found?.task_devices ?? [];
    drawFacts(facts, device, list);
    drawActs(acts, device, () => loading.touch());
    rows.set(list);
    await Promise.all([reason.load(), picture.load()]);
  };
  await load();
  const loading = refresher(load, { everyMs: EVERY_MS, atOnce: false });
  const stop = onEntries((batch) => { if (batch.some(({ body }) => body.device === id)) loading.touch(); });
  return () => { loading.close(); stop(); picture.close(); };
}

/** A list that a server of an older version does not have is an empty one. */
function missing(error) {
  if (error.status !== 404) throw error;
  return null;
}

function drawFacts(facts, device, rows) {
  const running = rows.find((row) => row.status === 'running');
  const failedRow = rows.find((row) => row.error);
  const labels = Object.entries(device.labels);
  const line = (label, ...value) => [h('dt', {}, label), h('dd', {}, value)];
  fill(facts,
    line(t('fleet.state'), badge(device.status), running && [' ', badge('running'), ' ', idLink('task_device', running.id)]),
    line(t('fleet.node'), idLink('node', device.pc_id)),
    line(t('fleet.attachment'), badge(device.attachment), device.offline_since && ` ${t('fleet.since', { at: moment(device.offline_since) })}`),
    line(t('fleet.handle'), h('code', {}, device.runtime_handle)),
    line(t('fleet.labels'), labels.length ? labels.map(([key, value]) => h('code', { class: 'label' }, `${key}=${value}`)) : '–'),
    device.note && line(t('fleet.note'), device.note),
    failedRow && line(t('fleet.last_error'), h('span', { class: 'error' }, failedRow.error)),
    line(t('fleet.first_seen'), moment(device.created_at)));
}

/** Drawn anew only when what can be done is another: whoever stands on a button stays there. */
function drawActs(acts, device, acted) {
  const now = JSON.stringify([device.status, device.labels]);
  if (now === acts.dataset.drawn) return;
  acts.dataset.drawn = now;
  const button = (label, act, props) => h('button', { ...props, onClick: async () => { if (await act()) acted(); } }, label);
  fill(acts, may.operate() && [
    device.status === 'ERROR' && button(t('fleet.return'), () => returnDevice(device.device_id), { class: 'primary' }),
    button(t('fleet.labels_edit'), () => labelDevice(device.device_id, device.labels)),
  ]);
}

/** The newest picture of a device; the one before is let go. */
function screenshot(path, signal) {
  const place = h('div', { class: 'screenshot' }, h('p', { class: 'quiet' }, t('fleet.no_screenshot')));
  // A picture that is gone is not asked for again and again.
  let asked = null;
  let url = null;
  const load = async () => {
    const { artifacts } = await get(`${path}/artifacts`, { limit: 20 }, signal).catch(missing) ?? { artifacts: [] };
    const newest = artifacts.find((artifact) => artifact.url && isPicture(artifact));
    if (!newest || newest.url === asked) return;
    asked = newest.url;
    const next = await getBlobUrl(newest.url, signal).catch(missing);
    if (!next) return;
    if (url) URL.revokeObjectURL(url);
    url = next;
    fill(place, h('figure', {}, h('img', { src: url, alt: t('fleet.screenshot_alt') }),
      h('figcaption', { class: 'quiet' }, newest.at && moment(newest.at), ' ', newest.task_device_id && idLink('task_device', newest.task_device_id))));
  };
  const close = () => { if (url) URL.revokeObjectURL(url); };
  return { element: h('section', { class: 'card' }, h('h2', {}, t('fleet.screenshot')), place), load, close };
}

function attempts() {
  return table({
    caption: t('fleet.attempts'), id: (row) => row.id, empty: t('fleet.no_attempts'),
    columns: [
      { label: t('kind.run'), show: (row) => idLink('run', row.task_id) },
      { label: t('fleet.state'), show: (row) => badge(row.status) },
      { label: t('fleet.attempt'), number: true, show: (row) => t('overview.of', { part: row.attempt, whole: row.max_attempts }) },
      { label: t('fleet.began'), show: (row) => moment(row.started_at) },
      { label: t('fleet.took'), number: true, show: (row) => (row.started_at && row.completed_at ? span(row.completed_at - row.started_at) : '–') },
      { label: t('fleet.error'), show: (row) => row.error ?? '–' },
      { label: t('why.ask'), show: (row) => why('task_device', row.id) },
    ],
  });
}
