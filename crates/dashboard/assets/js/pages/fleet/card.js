// A node on the wall: its places, its counts, and what can be done with it.

import { may } from '../../api.js';
import { fill, h, say } from '../../dom.js';
import { badge, lateBadge } from '../../parts/badge.js';
import { to } from '../../router.js';
import { moment, number, statusWord, t } from '../../text.js';
import { drainNode, resumeNode } from './acts.js';
import { placeGrid } from './grid.js';
import { PLACES, countStates, gridsFor } from './places.js';
import { signPicture } from './signs.js';

const SHOWN = ['running', 'idle', 'error', 'offline'];

/** Counts by state, each with its sign; `set(counts)`. */
export function stateCounts() {
  const figures = new Map(SHOWN.map((state) => [state, h('b')]));
  const element = h('ul', { class: 'state-counts' }, SHOWN.map((state) =>
    h('li', { title: statusWord(state) }, signPicture(state), figures.get(state), h('span', { class: 'word' }, statusWord(state)))));
  return { element, set: (counts) => { for (const [state, figure] of figures) say(figure, number(counts[state])); } };
}

/** The grids of a node, as many as its devices take. */
export function nodeGrids(node, { point }) {
  const element = h('div', { class: 'grids' });
  const grids = [];
  let colours;
  const sync = (wish) => {
    const wanted = gridsFor(node.devices.length);
    while (grids.length > wanted) grids.pop().element.remove();
    while (grids.length < wanted) {
      const first = grids.length * PLACES;
      const grid = placeGrid({ node, first, point, label: t('fleet.grid', { node: node.id, first: first + 1, last: first + PLACES }) });
      if (colours) grid.look(colours);
      grids.push(grid);
      element.append(grid.element);
    }
    for (const grid of grids) grid.sync(wish);
  };
  const look = (now) => {
    colours = now;
    for (const grid of grids) grid.look(now);
  };
  const paint = (device, wish) => grids[Math.floor(device.place / PLACES)]?.paint(device.place % PLACES, wish);
  return { element, sync, look, paint };
}

/** A card. `sync(wish)` draws all that changed, `paint(device, wish)` one place, `about(pc)` takes what `GET /api/pcs` says. */
export function nodeCard(node, { point, acted }) {
  const grids = nodeGrids(node, { point });
  const counts = stateCounts();
  const standing = h('span');
  const since = h('span', { class: 'quiet' });
  const late = h('span');
  const slots = h('span', { class: 'quiet' });
  const act = may.operate() ? h('button', { class: 'small' }) : null;
  let known = null;
  let drawn = '';
  act?.addEventListener('click', async () => {
    const done = await (node.draining ? resumeNode(node.id) : drainNode(node.id, countStates(node.devices).running));
    if (done) acted();
  });

  function head() {
    const counted = countStates(node.devices);
    counts.set(counted);
    say(slots, known ? t('fleet.slots', { used: counted.running, n: known.max_devices }) : t('fleet.device_count', { n: node.devices.length }));
    const words = [node.online, node.draining, node.late, node.pausedUntil, known?.status_since].join();
    if (words === drawn) return;
    drawn = words;
    fill(standing, badge(!node.online ? 'offline' : node.draining ? 'draining' : 'online'));
    fill(late, node.online && node.late && [lateBadge(), ' ']);
    say(since, node.pausedUntil ? t('fleet.resting', { until: moment(node.pausedUntil) }) : known ? t('fleet.since', { at: moment(known.status_since) }) : '');
    if (act) say(act, t(node.draining ? 'fleet.resume' : 'fleet.drain'));
    act?.setAttribute('aria-label', t(node.draining ? 'fleet.resume_node' : 'fleet.drain_node', { node: node.id }));
  }

  const element = h('article', { class: 'card node-card' },
    h('header', {}, h('h2', {}, h('a', { href: to('fleet', 'node', node.id) }, node.id)), standing),
    h('p', { class: 'since' }, late, since),
    grids.element, counts.element,
    h('footer', {}, slots, act));
  return { element, node, head, look: grids.look, paint: grids.paint, sync: (wish) => { grids.sync(wish); head(); }, about: (pc) => { known = pc; node.late = pc.heartbeat === 'late'; head(); } };
}
