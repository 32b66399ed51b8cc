// Bars over time, a row for each thing; the same as a table for whoever cannot or does not want to see them.

import { fill, h, s } from '../dom.js';
import { moment, t } from '../text.js';
import { layGantt } from './gantt_layout.js';
import { took } from './since.js';
import { table } from './table.js';

const LINE_PX = 17;
const BAR_PX = 11;
const LABEL_PX = 116;
const LABEL_CHARS = 15;
const MARK_PX = 12;
const END_PX = 2;

/**
 * A chart. `set(bars)` draws `[{id, row, from, to|null, tone, mark?, kind, words}]`: `tone` is a colour, `mark` a sign that
 * stands in the bar, `kind` what both mean, for the legend; `words` say all of it. `href(row)` is where a row leads to;
 * `rowLabel` heads the rows of the table.
 */
export function gantt({ caption, rowLabel, href }) {
  const axis = s('svg', { class: 'gantt-axis', 'aria-hidden': 'true', height: 22 });
  const body = s('svg', { class: 'gantt-body', role: 'group', 'aria-label': caption });
  const chart = h('div', { class: 'gantt', tabindex: '0', role: 'region', 'aria-label': caption }, axis, body);
  const legend = h('ul', { class: 'tally gantt-legend', 'aria-label': t('shell.legend') });
  const asTable = barTable(caption, rowLabel, href);
  asTable.element.hidden = true;
  const toggle = h('button', { 'aria-pressed': 'false', onClick: () => flip() }, t('shell.as_table'));
  let bars = [];
  let drawn = '';

  const flip = () => {
    const isTable = asTable.element.hidden;
    asTable.element.hidden = !isTable;
    chart.hidden = isTable;
    toggle.setAttribute('aria-pressed', String(isTable));
    draw();
  };
  const draw = () => {
    if (!asTable.element.hidden) asTable.set(bars);
    else if (chart.clientWidth > LABEL_PX) drawChart(axis, body, { bars, width: chart.clientWidth, href });
  };
  const set = (next) => {
    const text = JSON.stringify(next);
    if (text === drawn && next.every((bar) => bar.to !== null)) return;
    drawn = text;
    bars = next;
    fill(legend, kindsOf(bars).map(keyOf));
    draw();
  };
  const watcher = new ResizeObserver(draw);
  watcher.observe(chart);
  return { element: h('div', {}, chart, legend, asTable.element), toggle, set, stop: () => watcher.disconnect() };
}

/** One bar of each kind, in the order in which they are met. */
function kindsOf(bars) {
  const kinds = new Map();
  for (const bar of bars) if (!kinds.has(bar.kind)) kinds.set(bar.kind, bar);
  return [...kinds.values()];
}

const keyOf = ({ kind, tone, mark }) => h('li', {}, h('span', { class: `key tone-${tone}`, 'aria-hidden': 'true' }, mark), kind);

function drawChart(axis, body, { bars, width, href }) {
  const laid = layGantt(bars, { width: width - LABEL_PX - MARK_PX, now: Date.now() });
  const lines = Object.values(laid.lines).reduce((sum, count) => sum + count, 0);
  const height = Math.max(1, lines) * LINE_PX;
  for (const [svg, tall] of [[axis, 22], [body, height]]) {
    svg.setAttribute('width', width);
    svg.setAttribute('height', tall);
  }
  fill(axis, laid.ticks.map(({ x, after }) => s('text', { x: LABEL_PX + x, y: 15, class: 'tick' }, after === 0 ? moment(laid.from) : `+${took(after)}`)));
  fill(body,
    laid.ticks.map(({ x }) => s('line', { x1: LABEL_PX + x, x2: LABEL_PX + x, y1: 0, y2: height, class: 'grid' })),
    laid.rows.map((row) => rowLabelOf(row, laid.first[row] * LINE_PX, href)),
    laid.bars.map(drawBar));
}

function rowLabelOf(row, y, href) {
  const short = row.length > LABEL_CHARS ? `${row.slice(0, 5)}…${row.slice(-(LABEL_CHARS - 6))}` : row;
  const text = s('text', { x: 0, y: y + 12, class: 'row' }, s('title', {}, row), short);
  return href ? s('a', { href: href(row) }, text) : text;
}

function drawBar(bar) {
  const y = bar.line * LINE_PX + (LINE_PX - BAR_PX) / 2;
  const x = LABEL_PX + bar.x;
  return s('g', { class: `gantt-bar fill-${bar.tone}${bar.to === null ? ' open' : ''}` },
    s('title', {}, bar.words),
    s('rect', { x, y, width: bar.width, height: BAR_PX, rx: 2 }),
    // However short it was: here it ended, and not well.
    bar.tone === 'bad' && s('rect', { class: 'end', x: x + bar.width - END_PX, y: y - END_PX, width: END_PX, height: BAR_PX + 2 * END_PX }),
    bar.mark && bar.width >= MARK_PX && s('text', { x: x + 3, y: y + 9, class: 'mark' }, bar.mark));
}

function barTable(caption, rowLabel, href) {
  return table({
    caption,
    id: (bar) => bar.id,
    columns: [
      { label: rowLabel, show: (bar) => (href ? h('a', { class: 'id', href: href(bar.row) }, bar.row) : bar.row) },
      { label: t('shell.from'), show: (bar) => moment(bar.from) },
      { label: t('shell.to'), show: (bar) => moment(bar.to) },
      { label: t('shell.lasted'), number: true, show: (bar) => (bar.to === null ? '–' : took(bar.to - bar.from)) },
      { label: t('shell.what'), show: (bar) => bar.words },
    ],
  });
}
