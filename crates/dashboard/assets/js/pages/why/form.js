// The question: a kind of thing, and which one.

import { h } from '../../dom.js';
import { KINDS } from '../../parts/links.js';
import { go } from '../../router.js';
import { t } from '../../text.js';

/** A form that opens the answer; filled with what was asked before. */
export function askForm(kind = 'run', id = '') {
  const ask = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    const wanted = form.get('id').trim();
    if (wanted) go('why', form.get('kind'), wanted);
  };
  return h('form', { class: 'tools why-form', onSubmit: ask },
    h('label', {}, h('span', { class: 'quiet' }, t('why.kind')), h('select', { name: 'kind' }, KINDS.map((name) => h('option', { value: name, selected: name === kind }, t(`kind.${name}`))))),
    h('label', { class: 'which' }, h('span', { class: 'quiet' }, t('why.id')), h('input', { name: 'id', value: id, required: true, autocomplete: 'off', spellcheck: 'false', class: 'mono' })),
    h('button', { class: 'primary' }, t('why.ask')));
}
