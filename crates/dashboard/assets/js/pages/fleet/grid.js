// A hundred places of a node on one canvas; with the keyboard one of them at a time.

import { h, say } from '../../dom.js';
import { go } from '../../router.js';
import { statusWord, t } from '../../text.js';
import { COLUMNS, PLACES, placeAfter, placeAt, signOf } from './places.js';
import { paintSign } from './signs.js';

let grids = 0;

/**
 * The grid of `node` that begins with its device number `first`. `sync(wish)` paints the places that changed,
 * `look(colours)` all of them anew. `point({text, event})` is told where the pointer is.
 */
export function placeGrid({ node, first, label, point }) {
  const id = `grid-${++grids}`;
  const canvas = h('canvas', { 'aria-hidden': 'true' });
  const cursor = h('span', { class: 'cursor', 'aria-hidden': 'true' });
  const cell = h('div', { role: 'gridcell', id: `${id}-cell` });
  const row = h('div', { role: 'row', class: 'hidden' }, cell);
  const deviceAt = (place) => node.devices[first + place];
  const painter = placePainter(canvas, deviceAt);
  let active = 0;

  const activate = (place) => {
    active = place;
    const column = place % COLUMNS;
    const line = Math.floor(place / COLUMNS);
    row.setAttribute('aria-rowindex', line + 1);
    cell.setAttribute('aria-colindex', column + 1);
    cursor.style.setProperty('transform', `translate(${column * 100}%, ${line * 100}%)`);
    say(cell, placeName(deviceAt(place), first + place));
  };
  const open = (place) => { if (deviceAt(place)) go('fleet', 'device', deviceAt(place).id); };
  const key = (event) => {
    if (event.key === 'Enter' || event.key === ' ') open(active);
    else if (placeAfter(active, event.key) === null) return;
    else activate(placeAfter(active, event.key));
    event.preventDefault();
  };
  const under = (event) => placeAt(event.offsetX, event.offsetY, canvas.clientWidth / COLUMNS);
  const element = h('div', {
    class: 'places', role: 'grid', tabindex: '0', 'aria-label': label, 'aria-rowcount': PLACES / COLUMNS, 'aria-colcount': COLUMNS, 'aria-activedescendant': cell.id,
    onKeydown: key, onFocus: () => activate(active),
    onClick: (event) => { const place = under(event); if (place !== null) { activate(place); open(place); } },
    onPointermove: (event) => { const place = under(event); point?.(place === null ? null : { text: placeName(deviceAt(place), first + place), event }); },
    onPointerleave: () => point?.(null),
  }, canvas, cursor, row);

  const paint = (place, wish) => {
    if (painter.paint(place, wish) && place === active) say(cell, placeName(deviceAt(place), first + place));
  };
  const sync = (wish) => { for (let place = 0; place < PLACES; place++) paint(place, wish); };
  activate(0);
  return { element, sync, look: painter.look, paint };
}

/** Paints places whose sign is another than the one that stands there. */
function placePainter(canvas, deviceAt) {
  const context = canvas.getContext('2d');
  const painted = new Array(PLACES).fill('');
  let colours = null;
  let size = 15;
  const paint = (place, wish) => {
    const sign = signOf(deviceAt(place), wish);
    if (sign === painted[place] || !colours) return false;
    painted[place] = sign;
    paintSign(context, sign, { x: (place % COLUMNS) * size, y: Math.floor(place / COLUMNS) * size, size, colours });
    return true;
  };
  const look = (now) => {
    const ratio = devicePixelRatio || 1;
    colours = now;
    size = parseFloat(getComputedStyle(document.documentElement).fontSize);
    canvas.width = canvas.height = Math.round(COLUMNS * size * ratio);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    painted.fill('');
  };
  return { paint, look };
}

const placeName = (device, place) =>
  (device ? t('fleet.place', { device: device.id, state: statusWord(device.state) }) : t('fleet.place_empty', { n: place + 1 }));
