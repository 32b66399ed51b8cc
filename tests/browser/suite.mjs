// Where spec files put their tests.

import { languages } from './words.mjs';

/** All tests: `{name, options, run}`. */
export const tests = [];

/**
 * A test: `run(scene)` with a page that is open. Options: `role` (ADMIN) or `user` (a name), `language` (en), `theme` (light),
 * `viewport` (desktop), `path` (`#/…`; absent: nothing is opened), `refusals` (statuses the server is meant to answer with),
 * `mayBreak` (connections may), `when` (false: left out).
 */
export function test(name, options, run) {
  tests.push({ name, options, run });
}

/** The same test in every language. */
export function inEveryLanguage(name, options, run) {
  for (const language of languages) test(`${name} (${language})`, { ...options, language }, run);
}
