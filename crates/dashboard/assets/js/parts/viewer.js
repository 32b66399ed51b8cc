// Shows something large in front of the page, until it is closed.

import { h } from '../dom.js';
import { t } from '../text.js';

/** Opens a dialog with `content`; `closed` is called when it is gone. */
export function view({ title, content, wide = false, closed }) {
  const opener = document.activeElement;
  const dialog = h('dialog', { class: wide ? 'viewer wide' : 'viewer', 'aria-labelledby': 'viewer-title', onClose: () => finish() },
    h('header', {}, h('h2', { id: 'viewer-title' }, title), h('button', { onClick: () => dialog.close() }, t('shell.close'))),
    content);
  const finish = () => {
    dialog.remove();
    opener?.focus?.();
    closed?.();
  };
  document.body.append(dialog);
  dialog.showModal();
  return () => dialog.close();
}
