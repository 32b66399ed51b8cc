// Parts of a whole as one bar, with a legend that says the figures.

import { fill, h, say } from '../dom.js';
import { number } from '../text.js';
import { inWords } from './progress.js';

/**
 * A bar of several parts. `parts`: `[{key, label, tone}]`. `set({key: count}, total?)` draws; without a total the parts
 * are the whole.
 */
export function tally({ parts, label }) {
  const spans = new Map();
  const figures = new Map();
  for (const { key, tone } of parts) {
    spans.set(key, h('span', { class: `tone-${tone}` }));
    figures.set(key, h('b'));
  }
  const bar = h('div', { class: 'bar-of', role: 'img', 'aria-label': label }, [...spans.values()]);
  const legend = h('ul', { class: 'tally' }, parts.map(({ key, label: word, tone }) =>
    h('li', {}, h('span', { class: `key tone-${tone}`, 'aria-hidden': 'true' }), figures.get(key), ' ', word)));
  const set = (counts, total) => {
    const whole = total ?? parts.reduce((sum, { key }) => sum + (counts[key] ?? 0), 0);
    for (const { key } of parts) {
      const width = whole > 0 ? `${Math.min(100, (100 * (counts[key] ?? 0)) / whole).toFixed(2)}%` : '0';
      const span = spans.get(key);
      if (span.style.width !== width) span.style.setProperty('width', width);
      say(figures.get(key), number(counts[key] ?? 0));
    }
    const words = inWords(counts, parts.map(({ key, label: word }) => [key, word]));
    bar.setAttribute('aria-label', words ? `${label}: ${words}` : label);
  };
  return { element: h('div', {}, bar, legend), set };
}

/** Named counts as bars below each other: `set([{id, label, count}])`, where a label may be an element. */
export function ranking({ label, empty }) {
  const list = h('ol', { class: 'ranking', 'aria-label': label });
  const nothing = h('p', { class: 'quiet' }, empty);
  let drawn = '';
  const set = (rows) => {
    const now = JSON.stringify(rows.map(({ id, count }) => [id, count]));
    if (now === drawn) return;
    drawn = now;
    const most = Math.max(1, ...rows.map((row) => row.count));
    fill(list, rows.map(({ label: word, count, detail }) => h('li', {},
      h('span', { class: 'what' }, word), h('b', { class: 'number' }, number(count)),
      h('span', { class: 'bar-of', 'aria-hidden': 'true' }, h('span', { class: 'tone-bad', css: { width: `${((100 * count) / most).toFixed(1)}%` } })),
      detail && h('span', { class: 'quiet detail' }, detail))));
    nothing.hidden = rows.length > 0;
    list.hidden = rows.length === 0;
  };
  set([]);
  nothing.hidden = false;
  list.hidden = true;
  return { element: h('div', {}, list, nothing), set };
}
