// One page at a time, named by the address after `#/`.

import { may } from './api.js';
import { fill, h } from './dom.js';
import { headingFocus } from './heading.js';
import { closeDialogs } from './parts/dialog.js';
import { passingText } from './parts/notice.js';
import { isPassing } from './passing.js';
import { t } from './text.js';

const reading = () => may.read();

/** The pages in the order of the navigation. A page's module exports `open(context)`, which gives back what closes it. */
export const pages = [
  { name: 'overview', allowed: reading },
  { name: 'fleet', allowed: () => may.read() || may.ownWorkers() },
  { name: 'runs', allowed: reading },
  { name: 'sessions', allowed: reading },
  { name: 'jobs', allowed: () => may.useJobs() },
  { name: 'why', allowed: reading },
  { name: 'court', allowed: reading },
  { name: 'schedules', allowed: reading },
  { name: 'audit', allowed: () => may.administer() },
  { name: 'users', allowed: () => may.useJobs() },
  { name: 'settings', allowed: reading },
];

const AGAIN_MS = 3000;

/** The address of a page, for links. */
export const to = (...parts) => `#/${parts.map(encodeURIComponent).join('/')}`;

/** Opens a page. */
export const go = (...parts) => { location.hash = to(...parts); };

/** Follows the address until what it gives back is called. */
export function startRouter(main, mark) {
  let close = () => {};
  const follow = () => {
    const { name, args, query } = read(location.hash);
    const page = pages.find((page) => page.name === name && page.allowed());
    close();
    closeDialogs();
    close = () => {};
    if (!page) return fallback();
    mark(name);
    fill(main);
    close = open(main, { name, args, query });
  };
  const fallback = () => {
    const first = pages.find((page) => page.allowed());
    if (first) location.replace(to(first.name));
    else fill(main, h('p', {}, t('shell.nothing_allowed')));
  };
  window.addEventListener('hashchange', follow);
  follow();
  return () => { window.removeEventListener('hashchange', follow); close(); };
}

/** Opens a page, again and again where trouble that passes keeps it from opening; gives back what closes it. */
function open(main, address) {
  let timer;
  let close;
  const attempt = () => {
    const shut = openOnce(main, address, (error) => {
      if (isPassing(error)) timer = setTimeout(() => { shut(); attempt(); }, AGAIN_MS);
    });
    close = shut;
  };
  attempt();
  return () => { clearTimeout(timer); close(); };
}

function openOnce(main, { name, args, query }, unopened) {
  const alive = new AbortController();
  const focusHeading = headingFocus(main, alive.signal);
  const title = (...parts) => {
    const heading = h('h1', { tabindex: '-1' }, parts);
    document.title = `${heading.textContent} · Muster`;
    return heading;
  };
  const failed = (error) => {
    if (error.name === 'AbortError' || alive.signal.aborted) return;
    const text = isPassing(error) ? passingText(error) : error.message;
    // What is tried again and again is told once.
    if (main.querySelector(':scope > .error[role=alert]')?.textContent === text) return;
    fill(main, title(t(`nav.${name}`)), h('p', { class: 'error', role: 'alert' }, text));
  };
  const context = { root: main, args, query, signal: alive.signal, title, failed };
  const refused = (error) => {
    const isMeant = !alive.signal.aborted;
    failed(error);
    focusHeading();
    // What it had begun ends with it.
    alive.abort();
    if (isMeant) unopened(error);
  };
  const closing = load(name).then((module) => (alive.signal.aborted ? undefined : module.open(context))).catch(refused);
  closing.then(focusHeading);
  return () => { alive.abort(); closing.then((done) => done?.()); };
}

/** A page's module; one that could not be fetched is as any other answer that did not come. */
const load = (name) => import(`./pages/${name}.js`).catch((error) => {
  throw error instanceof TypeError ? Object.assign(error, { status: 0 }) : error;
});

function read(hash) {
  const [path, search] = hash.replace(/^#\/?/, '').split('?');
  const [name, ...args] = path.split('/').map(decode);
  return { name: name || 'overview', args: args.filter(Boolean), query: new URLSearchParams(search) };
}

function decode(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
