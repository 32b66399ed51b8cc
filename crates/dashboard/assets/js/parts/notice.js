// Short messages about what was done, read out as they appear.

import { h } from '../dom.js';
import { t } from '../text.js';

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

/** Says something until what it gives back is called. */
export function lasting(text) {
  const line = put(text, 'notice');
  return () => line.remove();
}

/** What is said of trouble that passes. */
export const passingText = (error) => (error.status === 0 ? t('shell.unreachable') : t('shell.troubled', { error: error.message }));

function show(text, kind) {
  const line = put(text, kind);
  setTimeout(() => line.remove(), SHOWN_MS);
}

function put(text, kind) {
  const line = h('p', { class: kind }, text);
  region?.append(line);
  return line;
}
