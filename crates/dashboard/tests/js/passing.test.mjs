// What passes is asked again; what is refused is shown.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oneLine } from '../../assets/js/one_line.js';
import { isPassing } from '../../assets/js/passing.js';
import { isLogin, restMs } from '../../assets/js/token.js';

test('no answer, a server in trouble and too many requests pass; refusals and mistakes of the page do not', () => {
  assert.deepEqual([0, 408, 429, 500, 502, 503, 504].filter((status) => !isPassing({ status })), []);
  assert.deepEqual([400, 401, 403, 404, 409, 410, 422].filter((status) => isPassing({ status })), []);
  assert.equal(isPassing(new TypeError('a mistake')), false);
});

test('a reason is one line that UTF-8 can carry', () => {
  assert.equal(oneLine('  the rack\r\n\tis too  hot\u2028now '), 'the rack is too hot now');
  assert.equal(encodeURIComponent(oneLine('half \ud83d of a sign')), encodeURIComponent('half \ufffd of a sign'));
  assert.equal(oneLine('a whole one: 😀'), 'a whole one: 😀');
});

const login = (claims) => `head.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.sign`;

test('a token of a login is exchanged after six tenths of its life', () => {
  const token = login({ sub: 'ÿ?>', iat: 1000, exp: 1900 });
  assert.equal(restMs(token, 1_000_000), 540_000);
  assert.equal(restMs(token, 1_500_000), 40_000);
  assert.equal(restMs(token, 1_540_000), 0);
  assert.equal(restMs(token, 2_000_000), 0);
});

test('a token that does not say when it ends is exchanged at once', () => {
  for (const token of ['a.b.c', login({}), login(null), login({ iat: 'x', exp: 5 })]) assert.equal(restMs(token, 0), 0);
  assert.ok(isLogin('a.b.c') && !isLogin('muster_key') && !isLogin(null));
});
