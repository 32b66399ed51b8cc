// Shows a secret once; nobody can see it again.

import { h } from '../../dom.js';
import { notice } from '../../parts/notice.js';
import { moment, t } from '../../text.js';

/** Shows the answer to a request for a new secret until the dialog is closed. */
export function showSecret({ node_id: node, secret, old_valid_until: until }) {
  const text = h('input', { readonly: true, class: 'mono', value: secret, 'aria-label': t('fleet.secret_title', { node }), onFocus: () => text.select() });
  const copy = async () => {
    text.select();
    // Not every page may write to the clipboard; the text is chosen then, to be copied by hand.
    await navigator.clipboard?.writeText(secret).then(() => notice(t('fleet.copied')), () => {});
  };
  const dialog = h('dialog', { 'aria-labelledby': 'secret-title', onClose: () => dialog.remove() },
    h('h2', { id: 'secret-title' }, t('fleet.secret_title', { node })),
    h('p', {}, t('fleet.secret_once', { until: moment(until) })),
    h('div', { class: 'secret' }, text, h('button', { onClick: copy }, t('fleet.copy'))),
    h('div', { class: 'actions' }, h('button', { class: 'primary', onClick: () => dialog.close() }, t('fleet.secret_kept'))));
  document.body.append(dialog);
  dialog.showModal();
}
