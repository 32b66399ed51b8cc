// Ids of things as links to where they are shown.

import { may } from '../api.js';
import { h } from '../dom.js';
import { to } from '../router.js';

const LONG = 24;

/** In the order in which they are offered. */
const PLACES = {
  run: (id) => to('runs', id),
  device: (id) => to('fleet', 'device', id),
  task_device: (id) => to('why', 'task_device', id),
  node: (id) => to('fleet', 'node', id),
  worker: (id) => (/^\d+$/.test(id) ? `${to('fleet')}?tab=pool` : to('fleet', 'worker', id)),
  job: (id) => to('jobs', id),
  session: (id) => to('sessions', id),
  range: (id) => to('why', 'range', id),
  schedule: () => to('schedules'),
  court_task: (id) => to('court', id),
};

/** The kinds of things of which can be asked why they are as they are. */
export const KINDS = Object.keys(PLACES);

/** The address of the page that shows a thing. */
export const placeOf = (kind, id) => PLACES[kind]?.(String(id)) ?? to('why', kind, String(id));

/** An id as people can read it: of the long ones, what tells them apart. */
export const shortId = (id) => (id.length > LONG && /^[0-9a-f-]{36}/.test(id) ? `…${id.slice(24)}` : id);

/** A thing's id as a link; long ones are shortened, the whole id is the link's title. */
export function idLink(kind, id, { whole = false } = {}) {
  const text = String(id);
  const shown = whole ? text : shortId(text);
  if (kind === 'job' && !may.useJobs()) return h('code', {}, shown);
  return h('a', { href: placeOf(kind, text), class: shown === text ? 'mono' : 'mono short', title: shown === text ? undefined : text }, shown);
}

/** "Why?" beside something that may wait; `label` is its text. */
export const whyLink = (kind, id, label) => h('a', { href: to('why', kind, String(id)), class: 'why-link' }, label);
