// What the pages say, by key, from the same files the pages use.

import { chosenLanguages } from './environment.mjs';
import en from '../../crates/dashboard/assets/text/en.js';
import ko from '../../crates/dashboard/assets/text/ko.js';
import pt from '../../crates/dashboard/assets/text/pt.js';

const texts = { en, ko, pt };

/** The languages that are looked at. */
export const languages = Object.keys(texts).filter((language) => chosenLanguages?.includes(language) ?? true);

/** The text of a key in a language, filled in; a key that does not exist is an error. */
export function word(language, key, values = {}) {
  const found = key.split('.').reduce((at, part) => at?.[part], texts[language]);
  if (found === undefined) throw new Error(`there is no text ${key} in ${language}`);
  const form = typeof found === 'object' ? found[new Intl.PluralRules(language).select(values.n ?? 0)] ?? found.other : found;
  return form.replace(/\{(\w+)\}/g, (_, name) => {
    const value = values[name];
    return typeof value === 'number' ? new Intl.NumberFormat(language, { maximumFractionDigits: 1 }).format(value) : value ?? '';
  });
}

/** All forms of a text: one, or one for each number. */
export function wordsOf(language, key) {
  const found = key.split('.').reduce((at, part) => at?.[part], texts[language]);
  if (found === undefined) throw new Error(`there is no text ${key} in ${language}`);
  return typeof found === 'object' ? Object.values(found) : [found];
}

/** The sections of the texts. */
export const sections = Object.keys(en);
