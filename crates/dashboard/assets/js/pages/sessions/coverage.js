// The map of a session's frames: a cell for each frame, or for a few of them, line after line.

import { fill, h, say } from '../../dom.js';
import { placeOf } from '../../parts/links.js';
import { onLook, palette } from '../../parts/palette.js';
import { table } from '../../parts/table.js';
import { listing, number, statusWord, t } from '../../text.js';
import { STANDINGS, countFrames, fillCells, layCells, stretchAt } from './coverage_layout.js';
import { drawCell } from './coverage_draw.js';
import { rangeText } from './frames_text.js';

/** The side of a cell, measured in letters, so that it grows on a wall screen. */
const CELL_EM = 0.8;
const ROWS_MAX = 28;
const SAMPLE_PX = 12;
const ALONG = { ArrowRight: 1, ArrowLeft: -1, PageDown: 10, PageUp: -10 };

/** The map. It is a slider over the frames: the arrow keys move along it, and what stands there is told. */
export function coverageMap() {
  const canvas = h('canvas', { class: 'map', tabindex: '0', role: 'slider', 'aria-label': t('sessions.map_label'), 'aria-valuemin': '0' });
  const told = h('p', { class: 'told' });
  const note = h('p', { class: 'quiet' });
  const place = h('div', { class: 'map-place' }, canvas);
  const asTable = stretches();
  asTable.element.hidden = true;
  const toggle = h('button', { 'aria-pressed': 'false', onClick: () => flip() }, t('shell.as_table'));
  const signs = key();
  const element = h('section', { class: 'card' }, h('div', { class: 'heading' }, h('h2', {}, t('sessions.map')), toggle), place, told, signs.element, note, asTable.element);
  const state = { session: null, cells: [], layout: null, at: 0, size: 12 };

  const draw = () => {
    state.size = sizeOfCells();
    if (!state.session || place.clientWidth < state.size) return;
    state.layout = layCells(state.session.total, { width: place.clientWidth, cell: state.size, rowsMax: ROWS_MAX });
    state.cells = fillCells(state.session, state.layout);
    state.at = Math.min(state.at, state.cells.length - 1);
    paint(canvas, state);
    tell();
  };
  const tell = () => {
    const cell = state.cells[state.at];
    const words = describe(cell, state.session);
    say(told, words);
    canvas.setAttribute('aria-valuemax', state.session.total - 1);
    canvas.setAttribute('aria-valuenow', cell.from);
    canvas.setAttribute('aria-valuetext', words);
  };
  const point = (at) => {
    if (at === state.at || at < 0 || at >= state.cells.length) return;
    state.at = at;
    paint(canvas, state);
    tell();
  };
  const flip = () => {
    const isTable = asTable.element.hidden;
    asTable.element.hidden = !isTable;
    toggle.setAttribute('aria-pressed', String(isTable));
    if (isTable) asTable.set(state.session);
  };
  listen(canvas, state, point);
  const watcher = new ResizeObserver(draw);
  watcher.observe(place);
  const ends = onLook(() => { signs.draw(); draw(); });
  const set = (session) => {
    state.session = session;
    signs.count(countFrames(session).counts.failed ?? 0);
    draw();
    say(note, noteOf(session, state.layout));
    if (!asTable.element.hidden) asTable.set(session);
  };
  return { element, set, stop: () => { watcher.disconnect(); ends(); } };
}

/** Under the map: how many frames a cell holds, and where the server stopped telling. */
function noteOf(session, layout) {
  if (!session.coverageComplete) return t('sessions.map_until', { frame: session.coverage.at(-1)?.frameRange[1] ?? 0 });
  return t('sessions.map_cell', { n: layout?.perCell ?? 1 });
}

function listen(canvas, state, point) {
  canvas.addEventListener('pointermove', (event) => {
    if (!state.layout) return;
    const column = Math.floor(event.offsetX / state.size);
    if (column < state.layout.columns) point(Math.floor(event.offsetY / state.size) * state.layout.columns + column);
  });
  canvas.addEventListener('keydown', (event) => {
    const { columns } = state.layout ?? { columns: 1 };
    const by = { ...ALONG, ArrowDown: columns, ArrowUp: -columns, Home: -state.at, End: state.cells.length - 1 - state.at }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    point(Math.max(0, Math.min(state.cells.length - 1, state.at + by)));
  });
}

const sizeOfCells = () => Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * CELL_EM);

function paint(canvas, { cells, layout, at, size }) {
  const density = window.devicePixelRatio || 1;
  const [width, height] = [layout.columns * size, layout.rows * size];
  if (canvas.width !== Math.round(width * density) || canvas.height !== Math.round(height * density)) {
    canvas.width = Math.round(width * density);
    canvas.height = Math.round(height * density);
    canvas.style.setProperty('width', `${width}px`);
    canvas.style.setProperty('height', `${height}px`);
  }
  const pen = canvas.getContext('2d');
  const colours = palette();
  pen.setTransform(density, 0, 0, density, 0, 0);
  pen.clearRect(0, 0, width, height);
  cells.forEach((cell, place) => drawCell(pen, { cell, x: (place % layout.columns) * size, y: Math.floor(place / layout.columns) * size, size, colours, isHere: place === at }));
}

function describe(cell, { coverage }) {
  const stretch = stretchAt(coverage, cell.from);
  const last = cell.to - 1;
  const frames = last === cell.from ? t('sessions.frame', { frame: String(cell.from) }) : t('sessions.frames_from_to', { from: String(cell.from), to: String(last) });
  const facts = [statusWord(cell.standing)];
  if (stretch?.workerId) facts.push(t('sessions.by_worker', { worker: stretch.workerId }));
  if (stretch?.attempt) facts.push(t('sessions.attempt_n', { n: stretch.attempt }));
  if (cell.replayed) facts.push(t('sessions.replayed'));
  if (cell.dropped) facts.push(t('sessions.dropped_n', { n: cell.dropped }));
  return t('sessions.map_told', { frames, facts: listing(facts) });
}

/** The legend of the map, drawn by the same code as the map. `count(n)` says how many frames failed. */
function key() {
  let failed = 0;
  const sample = (words, cell) => {
    const canvas = h('canvas', { class: 'sample', width: SAMPLE_PX * 2, height: SAMPLE_PX * 2, 'aria-hidden': 'true' });
    const pen = canvas.getContext('2d');
    pen.scale(2, 2);
    drawCell(pen, { cell, x: 0, y: 0, size: SAMPLE_PX, colours: palette() });
    return h('li', {}, canvas, words);
  };
  const list = h('ul', { class: 'tally key-of-map' });
  const draw = () => fill(list,
    [...STANDINGS].reverse().map((standing) => sample(standing === 'failed' && failed > 0 ? t('sessions.failed_n', { n: failed }) : statusWord(standing), { standing })),
    sample(t('sessions.key_replayed'), { standing: 'completed', replayed: true }), sample(t('sessions.key_dropped'), { standing: 'completed', dropped: 1 }));
  const count = (now) => {
    if (now === failed) return;
    failed = now;
    draw();
  };
  draw();
  return { element: list, draw, count };
}

/** The same as a table. */
function stretches() {
  const list = table({
    caption: t('sessions.map'), id: ({ frameRange: [from] }) => `${from}`,
    columns: [
      { label: t('sessions.range'), show: ({ frameRange }) => h('span', { class: 'id' }, rangeText(frameRange)) },
      { label: t('sessions.frames'), number: true, show: ({ frameRange: [from, to] }) => number(to - from) },
      { label: t('shell.filter_status'), show: ({ status }) => statusWord(status) },
      { label: t('kind.worker'), show: ({ workerId }) => (workerId ? h('a', { class: 'id', href: placeOf('worker', workerId) }, workerId) : '–') },
      { label: t('sessions.attempt'), number: true, show: ({ attempt }) => attempt ?? '–' },
    ],
  });
  return { element: list.element, set: (session) => list.set(session.coverage) };
}
