// One page at a time, named by the address after `#/`.

import { may } from './api.js';
import { fill, h } from './dom.js';
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
    close = () => {};
    if (!page) return fallback();
    mark(name);
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

function open(main, { name, args, query }) {
  const alive = new AbortController();
  const title = (...parts) => {
    const heading = h('h1', { tabindex: '-1' }, parts);
    document.title = `${heading.textContent} · Muster`;
    return heading;
  };
  fill(main);
  const failed = (error) => {
    if (error.name === 'AbortError' || alive.signal.aborted) return;
    fill(main, title(t(`nav.${name}`)), h('p', { class: 'error', role: 'alert' }, error.status === 0 ? t('shell.unreachable') : error.message));
  };
  const context = { root: main, args, query, signal: alive.signal, title, failed };
  const closing = import(`./pages/${name}.js`).then((module) => (alive.signal.aborted ? undefined : module.open(context))).catch(failed);
  closing.then(() => focusHeading(main, alive.signal));
  return () => { alive.abort(); closing.then((done) => done?.()); };
}

/** Tells readers of the screen that another page is there; whoever types meanwhile is left alone. */
function focusHeading(main, signal) {
  const active = document.activeElement;
  const isTyping = active && active !== document.body && active.matches('input, select, textarea, dialog *');
  if (!signal.aborted && !isTyping) main.querySelector('h1')?.focus({ preventScroll: true });
}

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
