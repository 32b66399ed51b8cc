// Speaks to the server this page came from, and to no other.

import { oneLine } from './one_line.js';
import { isPassing } from './passing.js';
import { isLogin, restMs } from './token.js';

const KEPT = 'muster.token';
const EXCHANGE_MS = 10000;
const EXCHANGE_AGAIN_MS = 10000;
/** How long another tab may take to tell of the token that it was given. */
const TOLD_MS = 500;
let token = sessionStorage.getItem(KEPT);
/** By how much the server's clock is ahead. */
let ahead = 0;
let refreshing;
let exchange;
let onEnd = () => {};

/** Who is logged in: `{id, username, roles}`; nobody at first. */
export let me = null;

/** What the caller may do. */
export const may = {
  read: () => hasAny('VIEWER', 'OPERATOR', 'ADMIN'),
  operate: () => hasAny('OPERATOR', 'ADMIN'),
  administer: () => hasAny('ADMIN'),
  useJobs: () => hasAny('CLIENT', 'ADMIN'),
  ownWorkers: () => hasAny('WORKER_OWNER', 'ADMIN'),
};

const hasAny = (...roles) => Boolean(me?.roles.some((role) => roles.includes(role)));

/** A refusal of the server, or no answer at all (status 0). */
export class ApiError extends Error {
  constructor(status, problem) {
    super(problem?.detail || problem?.title || `HTTP ${status}`);
    this.status = status;
    this.problem = problem ?? {};
  }
}

/** Calls `ended` whenever the server no longer knows the token. */
export const whenLoggedOut = (ended) => { onEnd = ended; };

// A duplicated tab has the same login: an exchange by one would end it for the other.
const tabs = globalThis.BroadcastChannel && new BroadcastChannel(KEPT);
tabs?.addEventListener('message', ({ data }) => { if (token && data.before === token) keep(data.token); });

/** Takes up a login of this tab; true if it still holds. Trouble that passes is thrown: the login may hold all the same. */
export async function resume() {
  if (!token) return false;
  try {
    await recognise();
    if (isLogin(token)) {
      if (restMs(token, serverNow()) > 0) keepFresh();
      else await (exchange = exchangeToken());
    }
    return me !== null;
  } catch (error) {
    if (isPassing(error)) throw error;
    if (error.status === 401 || error.status === 403) forget();
    return false;
  }
}

/** Logs in with a name and a password. */
export async function login(username, password) {
  const answer = await call('POST', '/auth/login', { body: { username, password }, anonymous: true });
  await take(answer.access_token);
}

/** Logs in with a token that somebody was given. */
export const loginWithToken = (given) => take(given.trim());

async function take(given) {
  token = given;
  try {
    await recognise();
  } catch (error) {
    forget();
    throw error;
  }
  keep(token);
}

async function recognise() {
  me = await call('GET', '/auth/me');
}

function keep(given) {
  token = given;
  sessionStorage.setItem(KEPT, token);
  keepFresh();
}

const serverNow = () => Date.now() + ahead;

/** Exchanges a login's token before it ends; tabs of one login do so at different moments. */
function keepFresh(leastMs = 1000) {
  clearTimeout(refreshing);
  if (!isLogin(token)) return;
  const inMs = Math.max(leastMs, restMs(token, serverNow()) * (1 + Math.random() / 10));
  refreshing = setTimeout(() => { exchange = exchangeToken(); }, inMs);
}

async function exchangeToken() {
  const before = token;
  try {
    const next = await call('POST', '/auth/refresh', { isExchange: true, signal: AbortSignal.timeout(EXCHANGE_MS) });
    if (token !== before) return;
    keep(next.access_token);
    tabs?.postMessage({ before, token });
  } catch (error) {
    if (error.status !== 401) keepFresh(EXCHANGE_AGAIN_MS);
    else if (!(await isOther(before))) end();
  }
}

/** Whether the token is another than the one `used`, or becomes so when another tab tells of its exchange. */
async function isOther(used) {
  if (token === used && tabs && isLogin(used)) await new Promise((done) => { setTimeout(done, TOLD_MS); });
  return token !== used;
}

function end() {
  forget();
  onEnd();
}

/** Ends the login, here and at the server. */
export async function logout() {
  if (isLogin(token)) await call('POST', '/auth/logout', {}).catch(() => {});
  forget();
}

function forget() {
  clearTimeout(refreshing);
  sessionStorage.removeItem(KEPT);
  token = null;
  me = null;
}

/** Reads; `params` that are empty are left out. */
export const get = (path, params, signal) => call('GET', withQuery(path, params), { signal });

/** Acts. `reason` is written into the audit log; `once` makes a repeat harmless. */
export const post = (path, body, { reason, once } = {}) => call('POST', path, { body, reason, once });
export const patch = (path, body, { reason } = {}) => call('PATCH', path, { body, reason });
export const remove = (path, { reason } = {}) => call('DELETE', path, { reason });

/** A file as something an `img` or a link can show; revoke it when it is no longer shown. */
export async function getBlobUrl(path, signal) {
  const response = await send('GET', path, { signal });
  return URL.createObjectURL(await response.blob());
}

/** An open answer, to be read as it comes. */
export const stream = (path, headers, signal) => send('GET', path, { headers, signal });

async function call(method, path, options = {}) {
  const response = await send(method, path, options);
  const text = await response.text();
  return text ? JSON.parse(text) : null;
}

async function send(method, path, { body, reason, once, headers = {}, signal, anonymous, isExchange }) {
  const asked = { ...headers };
  // An exchange ends the token before it at once: nobody else is on the way with that one meanwhile.
  if (!anonymous && !isExchange) await exchange;
  const used = token;
  if (!anonymous && used) asked.authorization = `Bearer ${used}`;
  if (body !== undefined) asked['content-type'] = 'application/json';
  if (reason) asked['muster-reason'] = encodeURIComponent(oneLine(reason));
  if (once) asked['idempotency-key'] = once;
  let response;
  try {
    response = await fetch(path, { method, headers: asked, body: body === undefined ? undefined : JSON.stringify(body), signal, cache: 'no-store', credentials: 'omit' });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, { detail: error.message });
  }
  ahead = (Date.parse(response.headers.get('date')) || Date.now()) - Date.now();
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  if (response.status === 401 && !anonymous && !isExchange) {
    // What was on its way when the token was exchanged is asked again, with the new one.
    await exchange;
    if ((await isOther(used)) && token) return send(method, path, { body, reason, once, headers, signal });
    if (me) end();
  }
  throw new ApiError(response.status, problem);
}

function withQuery(path, params = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    if (value !== undefined && value !== null && value !== '') query.set(name, value);
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}
