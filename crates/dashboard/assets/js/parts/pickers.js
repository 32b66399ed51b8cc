// Choices of language and theme.

import { h } from '../dom.js';
import { currentLanguage, languages, loadLanguage, t } from '../text.js';
import { applyTheme, currentTheme, themes } from '../theme.js';

/** A choice of language; `changed` is called when its texts are there. */
export function languagePicker(changed) {
  const choose = async (event) => {
    await loadLanguage(event.target.value);
    changed();
  };
  const options = Object.entries(languages).map(([code, name]) => h('option', { value: code, lang: code, selected: code === currentLanguage() }, name));
  return h('label', { class: 'picker' }, h('span', { class: 'hidden' }, t('shell.language')), h('select', { name: 'language', onChange: choose }, options));
}

/** A choice of theme. */
export function themePicker() {
  const options = themes.map((theme) => h('option', { value: theme, selected: theme === currentTheme() }, t(`shell.theme_${theme}`)));
  return h('label', { class: 'picker' }, h('span', { class: 'hidden' }, t('shell.theme')), h('select', { name: 'theme', onChange: (event) => applyTheme(event.target.value) }, options));
}
