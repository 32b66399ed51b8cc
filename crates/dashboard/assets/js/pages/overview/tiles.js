// The cards of the overview: each is drawn once and told what changed.

import { fill, h, say } from '../../dom.js';
import { idLink } from '../../parts/links.js';
import { tally } from '../../parts/tally.js';
import { number, pieces, span, statusWord, t } from '../../text.js';
import { pages, to } from '../../router.js';
import { chart } from './chart.js';

const card = (key, title, ...content) => h('section', { class: `card tile ${key}` }, h('h2', {}, title), content);
const figure = () => h('p', { class: 'figure' });
/** The name of a page, as a link for whoever may open it. */
const listed = (name) => (pages.find((page) => page.name === name).allowed() ? h('a', { href: to(name) }, t(`nav.${name}`)) : t(`nav.${name}`));

/** What gets done: a figure per contract, and its last ten minutes. */
export function throughput() {
  const one = (key, ok, failed) => {
    const rate = figure();
    const bars = chart({ label: (good, bad) => t(failed ? 'overview.chart_label' : 'overview.chart_frames', { good, bad }) });
    const sums = { ok: h('b'), failed: h('b') };
    const legend = h('ul', { class: 'tally' },
      h('li', {}, h('span', { class: 'key key-ok', 'aria-hidden': 'true' }), sums.ok, ' ', t(failed ? 'overview.ended_well' : 'overview.frames_done')),
      failed && h('li', {}, h('span', { class: 'key key-failed', 'aria-hidden': 'true' }), sums.failed, ' ', t('overview.ended_badly')));
    return { key, ok, failed, rate, bars, sums, element: card(`rate ${key}`, t(`overview.${key}`), rate, bars.element, legend) };
  };
  const all = [one('tasks', 'tasks_ok', 'tasks_failed'), one('frames', 'frames'), one('jobs', 'jobs_ok', 'jobs_failed')];
  const set = (figures, now) => {
    for (const { key, ok, failed, rate, bars, sums } of all) {
      const perMinute = figures.perMinute(failed ? [ok, failed] : [ok], now);
      const shown = key === 'frames' ? perMinute / 60 : perMinute;
      say(rate, t(key === 'frames' ? 'overview.per_second' : 'overview.per_minute', { n: shown < 10 ? Math.round(shown * 10) / 10 : Math.round(shown) }));
      bars.set(figures.series[ok], failed && figures.series[failed]);
      say(sums.ok, number(figures.total(ok)));
      if (failed) say(sums.failed, number(figures.total(failed)));
    }
  };
  return { elements: all.map(({ element }) => element), set };
}

/** What has waited longest, and why. */
export function oldestWaiting() {
  const age = figure();
  const what = h('p', {});
  let drawn;
  const set = (oldest, now) => {
    say(age, oldest ? span(now - oldest.since) : t('overview.nothing_waits'));
    const id = oldest ? `${oldest.kind} ${oldest.id}` : '';
    if (id === drawn) return;
    drawn = id;
    fill(what, oldest && [t(`kind.${oldest.kind}`), ' ', idLink(oldest.kind, oldest.id), ' · ', h('a', { href: to('why', oldest.kind, oldest.id) }, t('why.ask'))]);
  };
  return { element: card('oldest', t('overview.oldest'), age, what), set };
}

/** A figure of a whole, as a bar. */
export function slots() {
  const used = figure();
  const bar = tally({ label: t('overview.slots'), parts: [{ key: 'used', label: t('overview.slots_used'), tone: 'busy' }, { key: 'free', label: t('overview.slots_free'), tone: 'empty' }] });
  const set = (now, target) => {
    say(used, t('overview.of', { part: now, whole: target }));
    bar.set({ used: now, free: Math.max(0, target - now) }, Math.max(target, now));
  };
  return { element: card('slots', t('overview.slots'), used, bar.element), set };
}

/** Devices by what they do. */
export function devices() {
  const total = figure();
  const bar = tally({ label: t('overview.devices'), parts: [
    { key: 'running', label: statusWord('running'), tone: 'busy' }, { key: 'idle', label: statusWord('idle'), tone: 'good' },
    { key: 'error', label: statusWord('error'), tone: 'bad' }, { key: 'offline', label: statusWord('offline'), tone: 'none' }] });
  const set = (counts) => {
    say(total, number(counts.idle + counts.running + counts.offline + counts.error));
    bar.set(counts);
  };
  return { element: card('devices', h('a', { href: to('fleet') }, t('overview.devices')), total, bar.element), set };
}

/** Nodes by how they stand. */
export function nodes() {
  const online = figure();
  const bar = tally({ label: t('overview.nodes'), parts: [
    { key: 'online', label: statusWord('online'), tone: 'good' }, { key: 'draining', label: statusWord('draining'), tone: 'warn' }, { key: 'offline', label: statusWord('offline'), tone: 'none' }] });
  const set = (all) => {
    const counts = { online: 0, draining: 0, offline: 0 };
    for (const node of all) counts[!node.online ? 'offline' : node.draining ? 'draining' : 'online']++;
    say(online, t('overview.of', { part: counts.online + counts.draining, whole: counts.online + counts.draining + counts.offline }));
    bar.set(counts);
  };
  return { element: card('nodes', t('overview.nodes'), online, bar.element), set };
}

/** Counts of what is under way: `page` links to all of it. */
export function queue(page, parts) {
  const main = figure();
  const bar = tally({ label: t(`nav.${page}`), parts: parts.map(([key, tone, label]) => ({ key, tone, label: label ?? statusWord(key) })) });
  const set = (counts) => {
    say(main, number(parts.reduce((sum, [key]) => sum + (counts[key] ?? 0), 0)));
    bar.set(counts);
  };
  return { element: card(page, listed(page), main, bar.element), set };
}

/** Workers of sessions and of the pool. */
export function workers() {
  const facts = h('dl', { class: 'facts' });
  let drawn;
  const set = ({ sim_workers: sim, pool }) => {
    const now = JSON.stringify([sim, pool]);
    if (now === drawn) return;
    drawn = now;
    const states = counted(Object.entries(sim));
    fill(facts,
      h('dt', {}, h('a', { href: `${to('fleet')}?tab=sim` }, t('overview.sim_workers'))),
      h('dd', {}, states.length ? states : number(0)),
      h('dt', {}, h('a', { href: `${to('fleet')}?tab=pool` }, t('overview.pool_workers'))),
      h('dd', {}, poolStates(pool)));
  };
  return { element: card('workers', t('overview.workers'), facts), set };
}

/** How many workers of the pool stand where; how many are online is said also where nobody is. */
function poolStates({ workers_online: online, workers, workers_banned: banned = 0 }) {
  return [piece('online', online), ...counted([['offline', workers - online], ['banned', banned]])];
}

const piece = (state, count) => h('span', { class: 'piece' }, t('overview.count_of', { n: count, what: statusWord(state) }));
const counted = (states) => states.filter(([, count]) => count > 0).map(([state, count]) => piece(state, count));

/** Who led when this tab looked last: a takeover is told also to whoever was at another page meanwhile. */
let knownLeader = null;

/** Who leads, and whether that changed. */
export function leader() {
  const facts = h('dl', { class: 'facts' });
  const told = h('p', { class: 'takeover', role: 'status', hidden: true });
  const set = ({ leader: now, version }) => {
    if (knownLeader && knownLeader.epoch !== now.epoch) {
      told.hidden = false;
      fill(told, pieces('overview.takeover', { address: h('code', {}, now.address), epoch: now.epoch, before: knownLeader.epoch }));
    }
    if (facts.childElementCount && knownLeader?.epoch === now.epoch && knownLeader.address === now.address) return;
    knownLeader = now;
    fill(facts, h('dt', {}, t('overview.leader_address')), h('dd', {}, h('code', {}, now.address)), h('dt', {}, t('overview.epoch')), h('dd', {}, number(now.epoch)),
      h('dt', {}, t('overview.store')), h('dd', {}, now.store), h('dt', {}, t('overview.version')), h('dd', {}, version));
  };
  return { element: card('leader', t('overview.leader'), facts, told), set };
}
