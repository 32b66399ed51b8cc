// Where the focus goes when a page has been opened.

import assert from 'node:assert/strict';
import test from 'node:test';
import { headingFocus } from '../../assets/js/heading.js';

const element = (place, isField = false) => ({ place, matches: () => isField });
const body = element('body');
const link = element('menu');
const skip = element('menu');

/** Opens a page; the focus is at one element when that begins and at another when the page is there. */
function opened(before, after, { aborted = false } = {}) {
  let isFocused = false;
  const main = { place: 'main', contains: (found) => found?.place === 'main', querySelector: () => ({ focus: () => { isFocused = true; } }), matches: () => false };
  const at = (found) => (found === 'main' ? main : found);
  globalThis.document = { body, activeElement: at(before) };
  const focusHeading = headingFocus(main, { aborted });
  globalThis.document.activeElement = at(after);
  focusHeading();
  return isFocused;
}

test('a page that was opened is told of', () => {
  assert.ok(opened(body, body));
  assert.ok(opened(link, link), 'the link that was clicked has the focus');
  assert.ok(opened('main', 'main'));
  assert.ok(opened(null, null));
  assert.ok(opened(element('main'), body), 'what had the focus is gone with the page before');
});

test('whoever moves the focus while the page is opened is left alone', () => {
  assert.ok(!opened(body, skip));
  assert.ok(!opened(link, skip));
  assert.ok(!opened(body, 'main'), 'the link that skips the menu was used');
});

test('whoever types, or went on into the page, is left alone', () => {
  const field = element('menu', true);
  assert.ok(!opened(field, field));
  assert.ok(!opened(body, element('main')));
  assert.ok(!opened(body, element('main', true)));
  const inside = element('main');
  assert.ok(!opened(inside, inside), 'what could not be opened is tried again');
  assert.ok(!opened(body, body, { aborted: true }), 'it was left before it was there');
});
