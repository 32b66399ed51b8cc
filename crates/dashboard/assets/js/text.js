// What people read: one file per language, found by key; numbers, moments and spans as that language writes them.

const LANGUAGES = { en: 'English', ko: '한국어', pt: 'Português' };
const KEPT = 'muster.language';
let words = {};
let fallback = {};
let language = 'en';
let plural = new Intl.PluralRules('en');

/** The languages there are: code → name. */
export const languages = LANGUAGES;

/** The code of the language in use. */
export const currentLanguage = () => language;

/** Loads a language: the one asked for, the one kept, or the browser's. */
export async function loadLanguage(wanted) {
  const kept = localStorage.getItem(KEPT);
  const preferred = [wanted, kept, ...navigator.languages.map((tag) => tag.split('-')[0]), 'en'];
  language = preferred.find((code) => code in LANGUAGES);
  if (wanted) localStorage.setItem(KEPT, language);
  const load = async (code) => (await import(`../text/${code}.js`)).default;
  [fallback, words] = await Promise.all([load('en'), load(language)]);
  plural = new Intl.PluralRules(language);
  document.documentElement.lang = language;
}

/** The text of a key such as `overview.title`, with `{name}` replaced. With a value `n`, the forms `one` and `other` of the key are used where they exist. */
export function t(key, values = {}) {
  return pieces(key, values).join('');
}

/** The same in pieces, so that values may be elements. */
export function pieces(key, values = {}) {
  const found = find(words, key, values) ?? find(fallback, key, values) ?? key;
  return found.split(/\{(\w+)\}/).map((part, index) => {
    if (index % 2 === 0) return part;
    const value = values[part] ?? '';
    return typeof value === 'number' ? number(value) : value;
  });
}

/** Whether there is a text for a key. */
export const hasText = (key) => find(words, key, {}) !== undefined || find(fallback, key, {}) !== undefined;

function find(texts, key, values) {
  const found = key.split('.').reduce((at, part) => (at && Object.hasOwn(at, part) ? at[part] : undefined), texts);
  if (found && typeof found === 'object') return found[plural.select(values.n ?? 0)] ?? found.other;
  return found;
}

/** A word for a status, or the status itself where none is known. */
export const statusWord = (status) => (hasText(`status.${status}`) ? t(`status.${status}`) : String(status));

/** Formats are dear to make and are kept, one of each name per language. */
const formats = new Map();
function format(name, make) {
  const key = `${language} ${name}`;
  if (!formats.has(key)) formats.set(key, make());
  return formats.get(key);
}

/** A number with a unit such as `second`. */
export const inUnits = (value, unit) => format(unit, () => new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'narrow', maximumFractionDigits: 1 })).format(value);

export const number = (value) => format('number', () => new Intl.NumberFormat(language, { maximumFractionDigits: 1 })).format(value);

/** A share in percent. Only the whole is 100 %: what is almost done, or lacks a little, is not rounded up to it. */
export const percent = (part) => format('percent', () => new Intl.NumberFormat(language, { style: 'percent', maximumFractionDigits: 0 })).format(part < 1 ? Math.min(part, 0.99) : part);

/** Several things in a row. */
export const listing = (things) => format('list', () => new Intl.ListFormat(language, { type: 'unit', style: 'short' })).format(things);

const TIME = { hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23' };
const DAY = { year: 'numeric', month: '2-digit', day: '2-digit' };

/** A moment (epoch ms or ISO text): the time today, with the date on other days. */
export function moment(at) {
  if (at === null || at === undefined) return '–';
  const date = new Date(at);
  const today = new Date().toDateString() === date.toDateString();
  return format(today ? 'time' : 'date', () => new Intl.DateTimeFormat(language, today ? TIME : { ...DAY, ...TIME })).format(date);
}

/** A span of milliseconds in its two largest units. */
export function span(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  const units = [[86400, 'day'], [3600, 'hour'], [60, 'minute'], [1, 'second']];
  const first = units.findIndex(([size]) => seconds >= size || size === 1);
  const shown = units.slice(first, first + 2).map(([size, unit], index) => {
    const amount = index === 0 ? Math.floor(seconds / size) : Math.floor((seconds % units[first][0]) / size);
    return amount || index === 0 ? inUnits(amount, unit) : '';
  });
  return shown.filter(Boolean).join(' ');
}

/** How long ago a moment was. */
export const ago = (at) => (at === null || at === undefined ? '–' : t('shell.ago', { span: span(Date.now() - new Date(at).getTime()) }));
