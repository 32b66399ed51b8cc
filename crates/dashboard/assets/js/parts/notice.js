// Short messages about what was done, read out as they appear.

import { h } from '../dom.js';

const SHOWN_MS = 6000;
let region;

/** Where messages appear; stands once on the page. */
export function noticeRegion() {
  region = h('div', { class: 'notices', role: 'status', 'aria-live': 'polite' });
  return region;
}

/** Says that something was done. */
export const notice = (text) => show(text, 'notice');

/** Says that something was refused. */
export const complaint = (error) => show(error.message ?? String(error), 'notice bad');

function show(text, kind) {
  const line = h('p', { class: kind }, text);
  region?.append(line);
  setTimeout(() => line.remove(), SHOWN_MS);
}
