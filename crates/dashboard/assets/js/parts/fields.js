// Labelled inputs of forms, and what they hold.

import { h } from '../dom.js';
import { t } from '../text.js';

/** A box to tick. */
export const checkBox = (name, label, checked) => h('label', { class: 'tick' }, h('input', { type: 'checkbox', name, checked }), label);

/** One of several, all of them seen; `options`: `[[value, words]]`, the first chosen. */
export const radios = (name, label, options) =>
  h('fieldset', { class: 'radios' }, h('legend', {}, label), options.map(([value, words], place) =>
    h('label', {}, h('input', { type: 'radio', name, value, checked: place === 0 }), h('span', {}, words))));

/** A filter of a list: a choice in the bar above it. */
export const filter = (name, label, options, value, changed) =>
  h('label', { class: 'filter' }, h('span', {}, label),
    h('select', { name, onChange: (event) => changed(event.target.value) },
      options.map(([option, words]) => h('option', { value: option, selected: option === (value ?? '') }, words))));

/** A search box of a list. */
export const searchBox = (label, value, changed) =>
  h('input', { type: 'search', name: 'q', class: 'search', placeholder: label, 'aria-label': label, value: value ?? '', onInput: (event) => changed(event.target.value) });

/** JSON from a form, undefined where nothing was written; throws words for people. */
export function readJson(form, name, label) {
  const text = form.get(name)?.trim();
  if (!text) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error(t('shell.not_json', { field: label, error: error.message }));
  }
}

/** A number from a form, undefined where nothing was written. */
export function readNumber(form, name) {
  const text = form.get(name)?.trim();
  return text ? Number(text) : undefined;
}

/** Words from a form, divided by commas, spaces or lines. */
export const readWords = (form, name) => (form.get(name) ?? '').split(/[\s,]+/).filter(Boolean);
