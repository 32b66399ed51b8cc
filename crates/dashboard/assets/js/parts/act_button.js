// Buttons that only some roles may use, and keys that make a repeat harmless.

import { h } from '../dom.js';

/** A button; null for whoever may never use it: a page shows nobody what their role cannot do. */
export const actButton = (label, { allowed, kind, act }) => (allowed ? h('button', { class: kind, onClick: act }, label) : null);

/** A key for one act, so that the server recognises a repeat. Works without a secure context, too. */
export const onceKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
