// Spans that grow while one looks at them.

import { h, say } from '../dom.js';
import { currentLanguage, span } from '../text.js';

const FINE_BELOW_MS = 10000;

/** How long something took, or takes since `from` as long as there is no `to`. */
export function lasting(from, to) {
  if (from === null || from === undefined) return '–';
  const start = new Date(from).getTime();
  if (to !== null && to !== undefined) return took(new Date(to).getTime() - start);
  return h('span', { 'data-since': start }, span(Date.now() - start));
}

/** A span that is over; a short one in parts of seconds. */
export function took(ms) {
  if (ms >= FINE_BELOW_MS) return span(ms);
  const unit = ms < 1000 ? 'millisecond' : 'second';
  return new Intl.NumberFormat(currentLanguage(), { style: 'unit', unit, unitDisplay: 'narrow', maximumFractionDigits: 1 }).format(ms < 1000 ? Math.max(0, ms) : ms / 1000);
}

/** Lets all spans inside an element grow, until what it gives back is called. */
export function growing(root) {
  const timer = setInterval(() => {
    if (document.hidden) return;
    for (const element of root.querySelectorAll('[data-since]')) say(element, span(Date.now() - Number(element.dataset.since)));
  }, 1000);
  return () => clearInterval(timer);
}
