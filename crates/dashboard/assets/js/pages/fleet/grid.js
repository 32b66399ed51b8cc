// A hundred places of a node on one canvas; with the keyboard one of them at a time.

import { h, say } from '../../dom.js';
import { go } from '../../router.js';
import { statusWord, t } from '../../text.js';
import { COLUMNS, PLACES, placeAfter, placeAt, signOf } from './places.js';
import { paintSign } from './signs.js';

let grids = 0;

/**
 * The grid of `node` that begins with its device number `first`. `sync(wish)` paints the places that changed,
 * `look(colours)` all of them anew. `point({device, place, event})` is told where the pointer is.
 */
export function placeGrid({ node, first, label, point }) {
  const id = `grid-${++grids}`;
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const context = canvas.getContext('2d');
  const cursor = h('span', { class: 'cursor', 'aria-hidden': 'true' });
  const cell = h('div', { role: 'gridcell', id: `${id}-cell` });
  const row = h('div', { role: 'row', class: 'hidden' }, cell);
  const state = { active: 0, painted: new Array(PLACES).fill(''), colours: null, size: 15 };
  const deviceAt = (place) => node.devices[first + place];

  const activate = (place) => {
    state.active = place;
    const column = place % COLUMNS;
    const line = Math.floor(place / COLUMNS);
    row.setAttribute('aria-rowindex', line + 1);
    cell.setAttribute('aria-colindex', column + 1);
    cursor.style.setProperty('transform', `translate(${column * 100}%, ${line * 100}%)`);
    say(cell, placeName(deviceAt(place), first + place));
  };
  const open = (place) => { if (deviceAt(place)) go('fleet', 'device', deviceAt(place).id); };
  const key = (event) => {
    if (event.key === 'Enter' || event.key === ' ') open(state.active);
    else if (placeAfter(state.active, event.key) === null) return;
    else activate(placeAfter(state.active, event.key));
    event.preventDefault();
  };
  const under = (event) => placeAt(event.offsetX, event.offsetY, canvas.clientWidth / COLUMNS);
  const element = h('div', {
    class: 'places', role: 'grid', tabindex: '0', 'aria-label': label, 'aria-rowcount': PLACES / COLUMNS, 'aria-colcount': COLUMNS, 'aria-activedescendant': cell.id,
    onKeydown: key, onFocus: () => activate(state.active),
    onClick: (event) => { const place = under(event); if (place !== null) { activate(place); open(place); } },
    onPointermove: (event) => { const place = under(event); point?.(place === null ? null : { text: placeName(deviceAt(place), first + place), event }); },
    onPointerleave: () => point?.(null),
  }, canvas, cursor, row);

  function sync(wish) {
    for (let place = 0; place < PLACES; place++) paint(place, wish);
  }

  function paint(place, wish) {
    const sign = signOf(deviceAt(place), wish);
    if (sign === state.painted[place] || !state.colours) return;
    state.painted[place] = sign;
    paintSign(context, sign, { x: (place % COLUMNS) * state.size, y: Math.floor(place / COLUMNS) * state.size, size: state.size, colours: state.colours });
    if (place === state.active) say(cell, placeName(deviceAt(place), first + place));
  }

  function look(colours) {
    const ratio = devicePixelRatio || 1;
    state.colours = colours;
    state.size = parseFloat(getComputedStyle(document.documentElement).fontSize);
    canvas.width = canvas.height = Math.round(COLUMNS * state.size * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    state.painted.fill('');
  }

  activate(0);
  return { element, sync, look, paint };
}

const placeName = (device, place) =>
  (device ? t('fleet.place', { device: device.id, state: statusWord(device.state) }) : t('fleet.place_empty', { n: place + 1 }));
