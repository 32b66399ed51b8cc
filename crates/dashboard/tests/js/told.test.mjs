// What the server can tell, the page can say: every kind of entry of the feed. (The codes of "why?" are generated: ../explanations.rs.)

import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import en from '../../assets/text/en.js';

const ROOT = new URL('../../../../', import.meta.url);
const read = (path) => readFileSync(new URL(path, ROOT), 'utf8');

/** Fields of bodies, which look like kinds. */
const FIELDS = new Set(['max_devices', 'next_at']);

test('every kind of entry of the feed has a sentence, and nothing else has one', () => {
  const folder = 'crates/coordinator/src/feed_entry/';
  const sources = [read('crates/coordinator/src/feed_entry.rs'), ...readdirSync(new URL(folder, ROOT)).map((name) => read(folder + name))];
  const found = sources.flatMap((text) => [...text.split('#[cfg(test)]')[0].matchAll(/(?:\(|\{)\s*"([a-z]+(?:_[a-z]+)+)"(?:,|\s*\})/g)].map(([, kind]) => kind));
  const kinds = new Set(found.filter((kind) => !FIELDS.has(kind)));
  assert.ok(kinds.size >= 60, `${kinds.size} kinds`);
  assert.deepEqual([...kinds].filter((kind) => !(kind in en.event)), []);
  assert.deepEqual(Object.keys(en.event).filter((key) => !kinds.has(key) && !kinds.has(key.replace(/_(error|note|reason|partial|worker)$/, ''))), []);
});
