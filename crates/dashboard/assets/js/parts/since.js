// Spans that grow while one looks at them.

import { h, say } from '../dom.js';
import { inUnits, span } from '../text.js';

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
  return ms < 1000 ? inUnits(Math.max(0, ms), 'millisecond') : inUnits(ms / 1000, 'second');
}

/** Lets all spans inside an element grow, until what it gives back is called. */
export function growing(root) {
  const timer = setInterval(() => {
    if (document.hidden) return;
    for (const element of root.querySelectorAll('[data-since]')) say(element, span(Date.now() - Number(element.dataset.since)));
  }, 1000);
  return () => clearInterval(timer);
}
