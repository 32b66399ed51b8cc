// Says what is under the pointer, beside it.

import { h, say } from '../../dom.js';

const BESIDE = 14;

/** A tip: `point({text, event})` shows it, `point(null)` takes it away. */
export function wallTip() {
  const element = h('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
  const point = (what) => {
    element.hidden = !what;
    if (!what) return;
    say(element, what.text);
    const left = Math.min(what.event.clientX + BESIDE, innerWidth - element.offsetWidth - 4);
    element.style.setProperty('transform', `translate(${left}px, ${what.event.clientY + BESIDE}px)`);
  };
  return { element, point };
}
