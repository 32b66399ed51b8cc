// The wall: every device of every node at its place, as it is now.

import { get } from '../../api.js';
import { fill, h, say } from '../../dom.js';
import { STATES } from '../../fleet.js';
import { atMostEvery } from '../../pace.js';
import { keepInAddress } from '../../parts/address.js';
import { onLook, palette } from '../../parts/palette.js';
import { refresher } from '../../parts/refresh.js';
import { to } from '../../router.js';
import { number, statusWord, t } from '../../text.js';
import { watchFleet } from '../../watch.js';
import { nodeCard, stateCounts } from './card.js';
import { isWanted, isWish } from './places.js';
import { wallTip } from './tip.js';

const PAINT_MS = 100;
const HEADS_MS = 250;
const ABOUT_MS = 15000;
const FOUND_MAX = 60;

/** Draws the wall into `root`; ended by `signal` and what it gives back. */
export async function wall(root, { query, signal }) {
  const wish = { text: query.get('q') ?? '', state: query.get('state') ?? '', node: query.get('node') ?? '' };
  const cards = new Map();
  const dirty = new Set();
  const changedDevices = new Set();
  const total = stateCounts();
  const list = h('div', { class: 'wall' });
  const found = foundList();
  const tip = wallTip();
  const tools = wishTools(wish, () => { keepInAddress({ q: wish.text, state: wish.state, node: wish.node }); syncAll(); });
  let fleet = null;

  const seen = seenCards(list, (card) => card.sync(wish));
  const heads = atMostEvery(HEADS_MS, () => {
    for (const node of dirty) if (seen.has(cards.get(node.id))) cards.get(node.id).head();
    dirty.clear();
    total.set(fleet.counts);
    found.set(fleet, wish);
  }, signal);
  const paint = atMostEvery(PAINT_MS, () => {
    for (const device of changedDevices) if (seen.has(cards.get(device.node.id))) cards.get(device.node.id).paint(device, wish);
    changedDevices.clear();
  }, signal);
  const syncAll = () => {
    place(list, cards, fleet, { point: tip.point, acted: () => about.touch() });
    for (const card of cards.values()) {
      seen.watch(card);
      if (seen.has(card)) card.sync(wish);
      card.element.hidden = isWish(wish) && !card.node.devices.some((device) => isWanted(device, wish)) && card.node.id !== wish.node;
    }
    tools.nodes([...fleet.nodes.keys()]);
    heads();
  };
  const syncSoon = atMostEvery(HEADS_MS, syncAll, signal);
  const changed = ({ devices, whole }) => {
    if (whole) { syncSoon(); about.touch(); }
    for (const device of devices) {
      changedDevices.add(device);
      dirty.add(device.node);
    }
    paint();
    heads();
  };
  const about = refresher(async () => {
    const { pcs } = await get('/api/pcs', { limit: 1000 }, signal);
    for (const pc of pcs) cards.get(pc.pc_id)?.about(pc);
  }, { everyMs: ABOUT_MS });
  signal.addEventListener('abort', about.close, { once: true });

  fleet = await watchFleet({ signal, changed });
  fill(root, h('div', { class: 'tools' }, tools.element, total.element), found.element, list, fleet.nodes.size === 0 && h('p', { class: 'quiet' }, t('fleet.no_nodes')), tip.element);
  syncAll();
  about.touch();
  const stopLook = onLook(() => look(cards, wish));
  return () => { stopLook(); seen.close(); };
}

/** Which cards are on the screen or near it: only these are drawn; `appeared` is told of each that comes into sight. */
function seenCards(list, appeared) {
  const cards = new Map();
  const now = new Set();
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const card = cards.get(target);
      if (!isIntersecting) now.delete(card);
      else if (card && list.contains(target)) { now.add(card); appeared(card); }
    }
  }, { rootMargin: '300px' });
  const watch = (card) => {
    if (cards.has(card.element)) return;
    cards.set(card.element, card);
    observer.observe(card.element);
  };
  return { has: (card) => now.has(card), watch, close: () => observer.disconnect() };
}

/** Has a card for every node, in the order of their names. */
function place(list, cards, fleet, callbacks) {
  let colours;
  for (const [id, card] of cards) if (fleet.nodes.get(id) !== card.node) { card.element.remove(); cards.delete(id); }
  for (const node of fleet.nodes.values()) {
    if (cards.has(node.id)) continue;
    const card = nodeCard(node, callbacks);
    card.look(colours ??= palette());
    cards.set(node.id, card);
    list.append(card.element);
  }
}

function look(cards, wish) {
  const colours = palette();
  for (const card of cards.values()) {
    card.look(colours);
    card.sync(wish);
  }
}

function wishTools(wish, changed) {
  const search = h('input', { type: 'search', name: 'q', value: wish.text, placeholder: t('fleet.search'), 'aria-label': t('fleet.search'), onInput: () => { wish.text = search.value.trim(); changed(); } });
  const states = h('select', { name: 'state', 'aria-label': t('fleet.state'), onChange: () => { wish.state = states.value; changed(); } },
    h('option', { value: '' }, t('fleet.all_states')), STATES.map((state) => h('option', { value: state, selected: state === wish.state }, statusWord(state))));
  const nodes = h('select', { name: 'node', 'aria-label': t('fleet.node'), onChange: () => { wish.node = nodes.value; changed(); } });
  let drawn = null;
  const setNodes = (names) => {
    if (names.join('\n') === drawn) return;
    drawn = names.join('\n');
    fill(nodes, h('option', { value: '' }, t('fleet.all_nodes')), names.map((name) => h('option', { value: name, selected: name === wish.node }, name)));
  };
  return { element: [search, states, nodes], nodes: setNodes };
}

/** Devices that are looked for as links: for whoever reads rather than sees. */
function foundList() {
  const count = h('p', { role: 'status' });
  const list = h('ul', { class: 'found' });
  const element = h('section', { class: 'card', 'aria-label': t('fleet.found_title'), hidden: true }, count, list);
  let drawn = '';
  const set = (fleet, wish) => {
    element.hidden = !isWish(wish);
    if (element.hidden) return;
    const devices = [...fleet.devices.values()].filter((device) => isWanted(device, wish));
    say(count, t('fleet.found', { n: devices.length }));
    const shown = devices.slice(0, FOUND_MAX);
    const now = shown.map(({ id, state }) => `${id} ${state}`).join('\n') + devices.length;
    if (now === drawn) return;
    drawn = now;
    fill(list, shown.map(({ id, state }) => h('li', {}, h('a', { href: to('fleet', 'device', id), class: 'mono' }, id), h('span', { class: 'quiet' }, statusWord(state)))),
      devices.length > shown.length && h('li', { class: 'quiet' }, t('fleet.found_more', { n: number(devices.length - shown.length) })));
  };
  return { element, set };
}
