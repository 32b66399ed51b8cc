// Shows a secret once; nobody can see it again.

import { h } from '../dom.js';
import { t } from '../text.js';
import { notice } from './notice.js';

/** Shows a secret until the dialog is closed. `label` names the secret for whoever hears the page. */
export function showSecret({ title, what, label, secret }) {
  const text = h('input', { readonly: true, class: 'mono', value: secret, 'aria-label': label, onFocus: () => text.select() });
  const copy = async () => {
    text.select();
    // The clipboard exists on secure addresses only; elsewhere the text stands chosen, ready to be copied by hand.
    await navigator.clipboard?.writeText(secret).then(() => notice(t('shell.secret_copied')), () => {});
  };
  return new Promise((resolve) => {
    const dialog = h('dialog', { 'aria-labelledby': 'secret-title', onClose: () => { dialog.remove(); resolve(); } },
      h('h2', { id: 'secret-title' }, title),
      h('p', {}, what),
      h('div', { class: 'secret' }, text, h('button', { onClick: copy }, t('shell.secret_copy'))),
      h('div', { class: 'actions' }, h('button', { class: 'primary', onClick: () => dialog.close() }, t('shell.secret_kept'))));
    document.body.append(dialog);
    dialog.showModal();
  });
}
