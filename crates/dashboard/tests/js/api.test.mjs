// The login of a tab: taken up, exchanged in time, shared with the tabs that have the same.

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';

const login = (secondsAgo, name = 'token') => {
  const iat = Math.floor(Date.now() / 1000) - secondsAgo;
  return `${name}.${Buffer.from(JSON.stringify({ iat, exp: iat + 900 })).toString('base64url')}.sign`;
};
const kept = new Map();
globalThis.sessionStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value), removeItem: (key) => kept.delete(key) };

/** Tabs as the browser connects them: each is told what the others say. */
const channels = new Set();
globalThis.BroadcastChannel = class {
  constructor() { channels.add(this); }
  addEventListener(_, listen) { this.listen = listen; }
  postMessage(data) { for (const other of channels) if (other !== this) other.listen({ data }); }
};

/** Nobody waits for an exchange minutes later. */
const wait = globalThis.setTimeout;
globalThis.setTimeout = (act, ms) => (ms > 5000 ? wait(act, ms).unref() : wait(act, ms));

let asked = [];
let answer;
globalThis.fetch = async (path, { method, headers, signal }) => {
  asked.push({ what: `${method} ${path}`, token: headers.authorization?.slice(7), reason: headers['muster-reason'], signal });
  return answer(`${method} ${path}`, headers.authorization?.slice(7));
};
const fine = (body) => new Response(JSON.stringify(body));
const refused = (status) => new Response('{}', { status });
const whats = () => asked.map(({ what }) => what);

let tabs = 0;
const openTab = (token) => {
  kept.set('muster.token', token);
  return import(`../../assets/js/api.js?tab=${tabs++}`);
};

beforeEach(() => { asked = []; channels.clear(); });

test('a token in the first half of its life is not exchanged when a tab takes it up', async () => {
  const tab = await openTab(login(60));
  answer = () => fine({ username: 'vera', roles: ['VIEWER'] });
  assert.equal(await tab.resume(), true);
  assert.deepEqual(whats(), ['GET /auth/me']);
});

test('a token near its end is exchanged, within a time, and a duplicated tab goes on with the new one', async () => {
  const old = login(800);
  const next = login(0, 'next');
  const [one, other] = [await openTab(old), await openTab(old)];
  answer = (what) => fine(what.endsWith('/me') ? { username: 'vera', roles: ['VIEWER'] } : { access_token: next });
  await one.resume();
  assert.deepEqual(whats(), ['GET /auth/me', 'POST /auth/refresh']);
  assert.ok(asked[1].signal instanceof AbortSignal);
  await other.get('/api/fleet');
  assert.equal(asked.at(-1).token, next);
});

test('a tab that is told of the new token a moment after its refusal stays logged in', async () => {
  const old = login(60);
  const next = login(0, 'next');
  const tab = await openTab(old);
  let ended = 0;
  tab.whenLoggedOut(() => ended++);
  answer = (what, token) => (token === next || what.endsWith('/me') ? fine({ roles: [] }) : refused(401));
  await tab.resume();
  const answered = tab.get('/api/fleet');
  setTimeout(() => new BroadcastChannel('muster.token').postMessage({ before: old, token: next }), 50);
  assert.deepEqual(await answered, { roles: [] });
  assert.equal(ended, 0);
});

test('a server that does not answer is no logout: the token is kept', async () => {
  const token = login(60);
  const tab = await openTab(token);
  for (const status of [429, 500, 503]) {
    answer = () => refused(status);
    await assert.rejects(tab.resume(), { status });
  }
  answer = () => { throw new TypeError('failed to fetch'); };
  await assert.rejects(tab.resume(), { status: 0 });
  assert.equal(kept.get('muster.token'), token);
  answer = () => fine({ username: 'vera', roles: [] });
  assert.equal(await tab.resume(), true);
});

test('a token that the server does not know is forgotten', async () => {
  const tab = await openTab(login(60));
  answer = () => refused(401);
  assert.equal(await tab.resume(), false);
  assert.equal(kept.get('muster.token'), undefined);
});

test('a reason of several lines is sent as one', async () => {
  const tab = await openTab('an-admin-token');
  answer = () => fine({});
  await tab.post('/api/nodes/a/drain', undefined, { reason: 'too\nhot' });
  assert.equal(asked[0].reason, 'too%20hot');
});
