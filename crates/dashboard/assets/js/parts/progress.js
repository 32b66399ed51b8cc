// How far something is: a bar of parts, with words for whoever does not see it.

import { h } from '../dom.js';
import { listing, number, percent, statusWord, t } from '../text.js';

/** The parts of a run, in the order in which a bar shows them. */
export const ROW_PARTS = [['completed', 'good'], ['running', 'busy'], ['failed', 'bad'], ['cancelled', 'none'], ['pending', 'empty']];

/** Counts of a run with all that wait: also the devices of the `total` that have no row yet. */
export function withWaiting(counts, total) {
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { ...counts, pending: counts.pending + Math.max(0, (total ?? rows) - rows) };
}

/** A bar. `counts`: status → number; `parts`: `[[status, tone]]`. */
export function bar(counts, parts = ROW_PARTS) {
  const total = parts.reduce((sum, [status]) => sum + (counts[status] ?? 0), 0);
  const shown = parts.filter(([status]) => counts[status] > 0);
  const words = inWords(counts, parts.map(([status]) => [status, statusWord(status)]));
  return h('div', { class: 'bar-of', role: 'img', 'aria-label': words || t('shell.nothing'), title: words },
    shown.map(([status, tone]) => h('span', { class: `tone-${tone}`, css: { width: `${(100 * counts[status]) / total}%` } })));
}

/** What a bar shows, for whoever does not see it; `parts`: `[[status, word]]`. */
export const inWords = (counts, parts) => listing(parts.filter(([status]) => counts[status] > 0).map(([status, word]) => `${word}: ${number(counts[status])}`));

/** How much of a whole, as a bar with its share beside it. */
export function share(done, total, tone = 'good') {
  const part = total ? done / total : 0;
  return h('div', { class: 'share' }, h('div', { class: 'bar-of', role: 'img', 'aria-label': percent(part) }, h('span', { class: `tone-${tone}`, css: { width: `${100 * part}%` } })), h('span', { class: 'number', 'aria-hidden': 'true' }, percent(part)));
}
