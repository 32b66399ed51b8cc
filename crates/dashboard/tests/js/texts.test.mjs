// What people read is there in every language, says the same, and is used.

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import en from '../../assets/text/en.js';
import ko from '../../assets/text/ko.js';
import pt from '../../assets/text/pt.js';

const ASSETS = new URL('../../assets/js/', import.meta.url);
/** Keys that are put together as the page runs: of these any may be used. */
const DYNAMIC = ['status.', 'kind.', 'nav.', 'event.', 'cause.', 'advice.', 'shell.theme_', 'shell.standing_'];
const languages = { en: flatten(en), ko: flatten(ko), pt: flatten(pt) };

/** Texts by key; forms of a plural stay together under one key. */
function flatten(texts, prefix = '', found = new Map()) {
  for (const [name, value] of Object.entries(texts)) {
    const key = prefix + name;
    if (typeof value === 'string' || 'other' in value) found.set(key, value);
    else flatten(value, `${key}.`, found);
  }
  return found;
}

const forms = (text) => (typeof text === 'string' ? [text] : Object.values(text));
const placeholders = (text) => [...new Set(forms(text).flatMap((form) => form.match(/\{\w+\}/g) ?? []))].sort();

function sources(folder) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const url = new URL(entry.isDirectory() ? `${entry.name}/` : entry.name, folder);
    return entry.isDirectory() ? sources(url) : [{ name: url.pathname, text: readFileSync(url, 'utf8') }];
  });
}

const code = sources(ASSETS);

for (const name of ['ko', 'pt']) {
  test(`${name} has the keys of en`, () => {
    assert.deepEqual([...languages[name].keys()].sort(), [...languages.en.keys()].sort());
  });

  test(`${name} has the placeholders of en`, () => {
    for (const [key, text] of languages.en) {
      assert.deepEqual(placeholders(languages[name].get(key) ?? ''), placeholders(text), `${name}: ${key}`);
    }
  });
}

test('no text is empty, and plurals have the forms of their language', () => {
  for (const [name, texts] of Object.entries(languages)) {
    for (const [key, text] of texts) {
      const wanted = new Intl.PluralRules(name).resolvedOptions().pluralCategories.filter((form) => ['one', 'other'].includes(form));
      if (typeof text === 'object') for (const form of wanted) assert.ok(form in text, `${name}: ${key} has no form ${form}`);
      for (const form of forms(text)) assert.ok(typeof form === 'string' && form.trim() !== '', `${name}: ${key}`);
    }
  }
});

test('every key that is used exists', () => {
  for (const { name, text } of code) {
    for (const [, key] of text.matchAll(/\b(?:t|pieces|hasText)\('([^']+)'/g)) {
      assert.ok(languages.en.has(key), `${name} uses ${key}`);
    }
  }
});

test('every key that exists is used', () => {
  const all = code.map(({ text }) => text).join('\n');
  const begun = [...all.matchAll(/`([\w.]+[._])\$\{/g)].map(([, prefix]) => prefix);
  const unused = [...languages.en.keys()].filter((key) => !all.includes(`'${key}'`) && ![...DYNAMIC, ...begun].some((prefix) => key.startsWith(prefix)));
  assert.deepEqual(unused, []);
});
