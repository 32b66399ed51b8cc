// Labelled inputs, and what the server found wrong with each of them.

import { h } from '../dom.js';
import { t } from '../text.js';

/** A labelled choice; `options`: `[[value, label]]`. */
export const choice = (name, label, options, props = {}) =>
  h('label', { class: 'field' }, h('span', {}, label),
    h('select', { name, ...props }, options.map(([value, text]) => h('option', { value, selected: value === props.value }, text))));

/** A labelled input of several lines. */
export const area = (name, label, props = {}) => h('label', { class: 'field' }, h('span', {}, label), h('textarea', { name, rows: 3, ...props }));

/** Several of a set; `options`: `[[value, label, checked?]]`. */
export const checks = (name, label, options) =>
  h('fieldset', { class: 'field checks' }, h('legend', {}, label),
    options.map(([value, text, checked]) => h('label', {}, h('input', { type: 'checkbox', name, value, checked }), text)));

/** A labelled field with a line of help: it describes the input, and is no part of its name. */
export function hinted(labelled, text) {
  const hint = h('small', { class: 'quiet', id: nextId() }, text);
  labelled.querySelector('input, select, textarea').setAttribute('aria-describedby', hint.id);
  return h('div', { class: 'hinted' }, labelled, hint);
}

/** Shows each complaint of a refusal at the input it is about (inputs are named as the server names fields); gives the rest as one text. */
export function blame(form, refusal) {
  unblame(form);
  if (refusal.status === 0) return t('shell.unreachable');
  const rest = complaints(refusal).filter(({ field, text }) => !mark(form, field, text)).map(({ text }) => text);
  form.querySelector('[aria-invalid]')?.focus();
  return rest.join('; ');
}

/** Takes all complaints away. */
export function unblame(form) {
  for (const line of form.querySelectorAll('.blame')) line.remove();
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid');
    input.removeAttribute('aria-errormessage');
  }
}

function complaints({ problem, message }) {
  if (Array.isArray(problem?.errors)) return problem.errors.map(({ loc, msg }) => ({ field: loc.slice(1).join('.'), text: msg }));
  return [{ field: problem?.field, text: message }];
}

function mark(form, field, text) {
  const inputs = [...form.querySelectorAll('[name]')].filter(({ name }) => field === name || field?.startsWith(`${name}.`) || field?.startsWith(`${name}[`));
  const input = inputs.sort((a, b) => b.name.length - a.name.length)[0];
  if (!input) return false;
  const line = h('small', { class: 'error blame', role: 'alert', id: nextId() }, text);
  (input.closest('.hinted') ?? input.closest('.field')).after(line);
  input.setAttribute('aria-invalid', 'true');
  input.setAttribute('aria-errormessage', line.id);
  return true;
}

let ids = 0;
const nextId = () => `form-${++ids}`;
