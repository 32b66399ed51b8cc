// Light, dark, or as the system has it.

const KEPT = 'muster.theme';

export const themes = ['auto', 'light', 'dark'];
export const currentTheme = () => localStorage.getItem(KEPT) ?? 'auto';

/** Puts the theme that was kept, or another one, into force. */
export function applyTheme(theme = currentTheme()) {
  localStorage.setItem(KEPT, theme);
  document.documentElement.dataset.theme = theme;
}
