// Ten minutes as sixty bars: what went well below, what failed on top.

import { h, s, say } from '../../dom.js';
import { number, t } from '../../text.js';
import { roundUp } from './figures.js';

const WIDTH = 300;
const HEIGHT = 72;
const BARS = 60;
const STEP = WIDTH / BARS;

/** A chart. `set(ok, failed)` takes sixty numbers each and moves the bars that changed. */
export function chart({ label }) {
  const rect = (tone) => s('rect', { class: tone, width: STEP - 1, y: HEIGHT, height: 0 });
  const good = Array.from({ length: BARS }, () => rect('chart-ok'));
  const bad = Array.from({ length: BARS }, () => rect('chart-failed'));
  [good, bad].forEach((bars) => bars.forEach((bar, index) => bar.setAttribute('x', index * STEP)));
  const most = h('span', { class: 'top', 'aria-hidden': 'true' });
  const titled = s('title');
  const element = h('div', { class: 'plot' }, most,
    s('svg', { class: 'chart', viewBox: `0 0 ${WIDTH} ${HEIGHT + 1}`, role: 'img', preserveAspectRatio: 'none' },
      titled,
      s('line', { x1: 0, x2: WIDTH, y1: 0.5, y2: 0.5, class: 'chart-line' }),
      s('line', { x1: 0, x2: WIDTH, y1: HEIGHT + 0.5, y2: HEIGHT + 0.5, class: 'chart-line' }),
      good, bad),
    h('div', { class: 'axis', 'aria-hidden': 'true' }, h('span', {}, t('overview.ten_minutes_ago')), h('span', {}, t('overview.now'))));
  const set = (ok, failed) => {
    const top = roundUp(Math.max(...ok.map((count, index) => count + (failed?.[index] ?? 0))));
    for (let index = 0; index < BARS; index++) {
      const below = (HEIGHT * ok[index]) / top;
      const above = (HEIGHT * (failed?.[index] ?? 0)) / top;
      place(good[index], HEIGHT - below, below);
      place(bad[index], HEIGHT - below - above, above);
    }
    say(most, number(top));
    say(titled, label(sum(ok), sum(failed ?? [])));
  };
  return { element, set };
}

const sum = (counts) => counts.reduce((all, count) => all + count, 0);

function place(bar, y, height) {
  const wanted = height.toFixed(1);
  if (bar.getAttribute('height') === wanted && bar.getAttribute('y') === y.toFixed(1)) return;
  bar.setAttribute('y', y.toFixed(1));
  bar.setAttribute('height', wanted);
}
