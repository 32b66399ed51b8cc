// One node: its devices, its slots, its life, and what can be done with it.

import { get, may } from '../../api.js';
import { fill, h } from '../../dom.js';
import { atMostEvery } from '../../pace.js';
import { badge, lateBadge } from '../../parts/badge.js';
import { onLook, palette } from '../../parts/palette.js';
import { refresher } from '../../parts/refresh.js';
import { showSecret } from '../../parts/secret.js';
import { to } from '../../router.js';
import { hasText, moment, number, t } from '../../text.js';
import { watchFleet } from '../../watch.js';
import { reasonLine } from '../why/reason.js';
import { capNode, drainNode, renewSecret, resumeNode } from './acts.js';
import { nodeGrids, stateCounts } from './card.js';
import { countStates } from './places.js';
import { wallTip } from './tip.js';

const EVERY_MS = 10000;
const NO_WISH = { text: '', state: '', node: '' };

export async function nodePage(id, { root, title, signal }) {
  const facts = h('dl', { class: 'facts' });
  const acts = h('div', { class: 'actions' });
  const life = h('ol', { class: 'plain-list timeline newest' });
  const reason = reasonLine('node', id, signal);
  const places = h('section', { class: 'card' }, h('h2', {}, t('overview.devices')));
  let shown = '';
  const load = async () => {
    const pc = await get(`/api/pcs/${encodeURIComponent(id)}`, {}, signal);
    const now = JSON.stringify({ ...pc, last_seen_at: 0 });
    drawFacts(facts, pc);
    if (now !== shown) {
      drawActs(acts, pc, () => loading.touch());
      fill(life, pc.history.map(station));
    }
    shown = now;
    await reason.load();
  };
  await load();
  fill(root,
    h('p', { class: 'crumbs' }, h('a', { href: to('fleet') }, t('nav.fleet'))),
    h('div', { class: 'headline' }, title(t('fleet.node_title', { id })), acts),
    h('div', { class: 'columns' }, h('section', { class: 'card' }, h('h2', {}, t('fleet.standing')), reason.element, facts), places),
    h('section', { class: 'card' }, h('h2', {}, t('fleet.history')), life));
  const loading = refresher(load, { everyMs: EVERY_MS, atOnce: false });
  // The wall may not load: then nobody is given what closes.
  signal.addEventListener('abort', loading.close, { once: true });
  const stopWall = await nodeWall(id, places, { signal, touched: () => loading.touch() });
  return stopWall;
}

/** The node's part of the wall. */
async function nodeWall(id, section, { signal, touched }) {
  const counts = stateCounts();
  const tip = wallTip();
  let grids = null;
  let drawnNode = null;
  const fleet = await watchFleet({ signal, changed: ({ whole, devices }) => {
    if (whole) drawSoon();
    for (const device of devices) if (device.node === drawnNode) { grids.paint(device, NO_WISH); drawSoon(); }
  } });
  const draw = () => {
    const node = fleet.nodes.get(id);
    if (!node) return;
    if (node !== drawnNode) {
      grids?.element.remove();
      grids = nodeGrids(node, { point: tip.point });
      grids.look(palette());
      section.append(grids.element);
      drawnNode = node;
    }
    grids.sync(NO_WISH);
    counts.set(countStates(node.devices));
    touched();
  };
  const drawSoon = atMostEvery(250, draw, signal);
  section.append(counts.element, tip.element);
  draw();
  return onLook(() => { grids?.look(palette()); grids?.sync(NO_WISH); });
}

function drawFacts(facts, pc) {
  const line = (label, ...value) => [h('dt', {}, label), h('dd', {}, value)];
  fill(facts,
    line(t('fleet.state'), badge(pc.pc_status), pc.draining && [' ', badge('draining')], pc.heartbeat === 'late' && pc.pc_status === 'online' && [' ', lateBadge()], ` ${t('fleet.since', { at: moment(pc.status_since) })}`),
    pc.paused_until && line(t('fleet.rest'), t('fleet.resting', { until: moment(pc.paused_until) })),
    line(t('fleet.last_seen'), moment(pc.last_seen_at)),
    line(t('overview.slots'), t('overview.of', { part: pc.running_count, whole: pc.max_devices })),
    line(t('overview.devices'), number(pc.device_count)),
    line(t('fleet.first_seen'), moment(pc.created_at)));
}

function drawActs(acts, pc, acted) {
  const button = (label, act, props) => h('button', { ...props, onClick: async () => { if (await act()) acted(); } }, label);
  fill(acts, may.operate() && [
    pc.draining ? button(t('fleet.resume'), () => resumeNode(pc.pc_id), { class: 'primary' }) : button(t('fleet.drain'), () => drainNode(pc.pc_id, pc.running_count), { class: 'danger' }),
    button(t('fleet.cap'), () => capNode(pc.pc_id, pc.max_devices)),
    may.administer() && button(t('fleet.secret'), () => renewSecret(pc.pc_id, showNodeSecret), { class: 'danger' }),
  ]);
}

function showNodeSecret({ node_id: node, secret, old_valid_until: until }) {
  const title = t('fleet.secret_title', { node });
  return showSecret({ title, what: t('fleet.secret_once', { until: moment(until) }), label: title, secret });
}

const station = ({ event_type: what, at }) => h('li', {}, h('b', {}, hasText(`fleet.life_${what}`) ? t(`fleet.life_${what}`) : what), ' ', h('time', { class: 'quiet' }, moment(at)));
