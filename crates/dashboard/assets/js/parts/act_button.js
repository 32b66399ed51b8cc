// Buttons that only some roles may use, and keys that make a repeat harmless.

import { h } from '../dom.js';
import { t } from '../text.js';

/** A button; whoever may not use it is told which role may. */
export const actButton = (label, { allowed, role = 'OPERATOR', kind, act }) =>
  h('button', { class: kind, disabled: !allowed, title: allowed ? undefined : t('shell.needs_role', { role }), onClick: act }, label);

/** A key for one act, so that the server recognises a repeat. Works without a secure context, too. */
export const onceKey = () => Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');
