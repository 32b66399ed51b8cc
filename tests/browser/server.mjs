// The server behind the pages, asked directly: to set a stage, and to see whether what was clicked was done.

import assert from 'node:assert/strict';
import { adminToken, base } from './environment.mjs';

/** Asks as the administrator (or with another token) and gives `{status, body}`. */
export async function ask(method, path, body, token = adminToken) {
  const headers = { authorization: `Bearer ${token}` };
  if (body !== undefined) headers['content-type'] = 'application/json';
  const response = await fetch(base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : null };
}

/** Reads; anything but success is a failure of the test. */
export async function read(path) {
  const { status, body } = await ask('GET', path);
  assert.equal(status, 200, `GET ${path}: ${JSON.stringify(body)}`);
  return body;
}

/** Acts; anything but success is a failure of the test. */
export async function act(method, path, body) {
  const answer = await ask(method, path, body);
  assert.ok(answer.status >= 200 && answer.status < 300, `${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}

/** Waits until `check` gives something true, and gives that. */
export async function eventually(what, check, limitMs = 20000) {
  const end = Date.now() + limitMs;
  for (;;) {
    const found = await check();
    if (found) return found;
    assert.ok(Date.now() < end, `after ${limitMs} ms still not so: ${what}`);
    await new Promise((done) => setTimeout(done, 100));
  }
}

const keys = new Map();

/** A token that may do what a role may: a key of the administrator's, narrowed. */
export async function tokenFor(role) {
  if (role === 'ADMIN') return adminToken;
  if (!keys.has(role)) keys.set(role, await act('POST', '/api-keys', { name: `browser tests: ${role}`, scopes: [role] }));
  return keys.get(role).key;
}

/** Logs a user of the stage in, whose password is made as `password_of` of the Rust side makes it. */
export async function tokenOf(username) {
  const { access_token: token } = await act('POST', '/auth/login', { username, password: passwordOf(username) });
  return token;
}

export const passwordOf = (username) => `the-password-of-${username}`;

/** Takes all keys back. */
export async function forgetTokens() {
  for (const { id } of keys.values()) await act('DELETE', `/api-keys/${id}`);
  keys.clear();
}

/** A name that no other test and no earlier time used. */
export const fresh = (word) => `${word}-${process.pid.toString(36)}${Date.now().toString(36)}${++names}`;
let names = 0;
