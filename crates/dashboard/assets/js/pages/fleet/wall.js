// The wall: every device of every node at its place, as it is now.

import { get } from '../../api.js';
import { fill, h } from '../../dom.js';
import { atMostEvery } from '../../pace.js';
import { keepInAddress } from '../../parts/address.js';
import { onLook, palette } from '../../parts/palette.js';
import { refresher } from '../../parts/refresh.js';
import { t } from '../../text.js';
import { watchFleet } from '../../watch.js';
import { nodeCard, stateCounts } from './card.js';
import { isWanted, isWish } from './places.js';
import { wallTip } from './tip.js';
import { foundList, wishTools } from './wish.js';

const PAINT_MS = 100;
const HEADS_MS = 250;
const ABOUT_MS = 15000;

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
  const nothing = h('p', { class: 'quiet' }, t('fleet.no_nodes'));
  let fleet = null;
  let about = null;

  const seen = seenCards(list, (card) => card.sync(wish));
  const heads = atMostEvery(HEADS_MS, () => {
    for (const node of dirty) drawHead(cards.get(node.id), seen, wish);
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
      drawHead(card, seen, wish);
    }
    nothing.hidden = fleet.nodes.size > 0;
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
  fleet = await watchFleet({ signal, changed });
  about = refresher(() => askAbout(cards, signal), { everyMs: ABOUT_MS, atOnce: false });
  fill(root, h('div', { class: 'tools' }, tools.element, total.element), found.element, list, nothing, tip.element);
  syncAll();
  askAbout(cards, signal).catch(() => about.touch());
  const stopLook = onLook(() => look(cards, wish));
  return () => { stopLook(); seen.close(); about.close(); };
}

/** What the feed does not tell of nodes: since when they stand as they do, and how many slots they have. */
async function askAbout(cards, signal) {
  const { pcs } = await get('/api/pcs', { limit: 1000 }, signal);
  for (const pc of pcs) cards.get(pc.pc_id)?.about(pc);
}

/** Brings the figures of a card up to date; nodes without anything that is looked for are hidden. */
function drawHead(card, seen, wish) {
  if (!card) return;
  card.element.hidden = isWish(wish) && !card.node.devices.some((device) => isWanted(device, wish)) && card.node.id !== wish.node;
  if (seen.has(card)) card.head();
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
    card.head();
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
