// Asks before anything is done: to what, what will happen, and why it is wanted.

import { h } from '../dom.js';
import { oneLine } from '../one_line.js';
import { t } from '../text.js';
import { blame, unblame } from './form.js';
import { complaint, notice } from './notice.js';

/**
 * Asks, acts, tells. `what` says what will happen; `act` is given `{reason, form}` and is called once.
 * `reason`: `'required'`, `'optional'` or absent. `fields`: further labelled inputs. `keep` names the button that does nothing;
 * none may be mistaken for the one that acts, so it is never a bare "Cancel". Gives back whether it was done.
 */
export function ask({ title, what, confirm, keep, danger = false, reason, fields = [], act, done }) {
  const opener = document.activeElement;
  return new Promise((resolve) => {
    const error = h('p', { class: 'error', role: 'alert' });
    const button = h('button', { class: danger ? 'danger' : 'primary' }, confirm);
    const back = h('button', { type: 'button', onClick: () => finish(false) }, keep || t(danger ? 'shell.keep' : 'shell.cancel'));
    let isUnderWay = false;
    const setUnderWay = (now) => { isUnderWay = button.disabled = back.disabled = now; };
    const finish = (result) => {
      dialog.remove();
      opener?.focus?.();
      resolve(result);
    };
    const submit = async (event) => {
      event.preventDefault();
      setUnderWay(true);
      error.textContent = '';
      unblame(event.target);
      const form = new FormData(event.target);
      try {
        await act({ reason: oneLine(form.get('reason') ?? '') || undefined, form });
        if (done) notice(done);
        finish(true);
      } catch (refusal) {
        setUnderWay(false);
        if (dialog.isConnected) error.textContent = blame(event.target, refusal);
        else { complaint(refusal); finish(false); }
      }
    };
    // What is under way is waited for: its answer may be one that is given only once.
    const closed = () => {
      if (!isUnderWay) finish(false);
      else if (dialog.isConnected) dialog.showModal();
    };
    const cancel = (event) => { if (isUnderWay) event.preventDefault(); };
    const dialog = h('dialog', { 'aria-labelledby': 'dialog-title', onCancel: cancel, onClose: closed },
      h('form', { onSubmit: submit },
        h('h2', { id: 'dialog-title' }, title),
        what && h('div', { class: 'what' }, what),
        fields,
        reason && h('label', { class: 'field' }, h('span', {}, t(reason === 'required' ? 'shell.reason' : 'shell.reason_optional')),
          h('textarea', { name: 'reason', rows: 2, maxlength: 500, required: reason === 'required' })),
        error,
        h('div', { class: 'actions' },
          back,
          button)));
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Takes all dialogs away: with a page goes what it asked. */
export function closeDialogs() {
  for (const dialog of document.querySelectorAll('dialog[open]')) {
    dialog.close();
    dialog.remove();
  }
}

/** A labelled input for `fields`. */
export const field = (name, label, props = {}) => h('label', { class: 'field' }, h('span', {}, label), h('input', { name, ...props }));

/** Does something at once and tells how it went. */
export async function perform(act, done) {
  try {
    await act();
    if (done) notice(done);
    return true;
  } catch (error) {
    complaint(error);
    return false;
  }
}
