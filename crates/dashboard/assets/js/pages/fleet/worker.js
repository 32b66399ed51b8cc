// One worker of sessions: where it stands, what it said of itself, and how it came to stand there.

import { get } from '../../api.js';
import { fill, h } from '../../dom.js';
import { onEntries } from '../../live.js';
import { badge } from '../../parts/badge.js';
import { idLink } from '../../parts/links.js';
import { refresher } from '../../parts/refresh.js';
import { to } from '../../router.js';
import { moment, number, percent, span, t } from '../../text.js';
import { reasonLine } from '../why/reason.js';
import { isZombie, pressure, workerActs } from './sim.js';

const EVERY_MS = 3000;

export async function workerPage(id, { root, title, signal }) {
  const facts = h('dl', { class: 'facts' });
  const acts = h('div', { class: 'actions' });
  const life = h('ol', { class: 'plain-list timeline newest' });
  const registration = h('pre', { tabindex: '0' });
  const reason = reasonLine('worker', id, signal);
  const zombie = h('p', { class: 'banner', role: 'status', hidden: true }, t('fleet.zombie_what'));
  let shown = '';
  const load = async () => {
    const worker = await get(`/api/v1/workers/${encodeURIComponent(id)}`, {}, signal);
    drawFacts(facts, worker);
    zombie.hidden = !isZombie(worker);
    const now = JSON.stringify([worker.state, worker.stateSince, worker.tasks, worker.transitions.length]);
    if (now !== shown) {
      fill(acts, workerActs(worker, () => loading.touch()));
      fill(life, stations(worker));
      fill(registration, JSON.stringify(worker.registration, null, 2));
    }
    shown = now;
    await reason.load();
  };
  await load();
  fill(root,
    h('p', { class: 'crumbs' }, h('a', { href: `${to('fleet')}?tab=sim` }, t('fleet.tab_sim'))),
    h('div', { class: 'headline' }, title(t('fleet.worker_title', { id })), acts),
    zombie,
    h('div', { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, t('fleet.standing')), reason.element, facts),
      h('section', { class: 'card' }, h('h2', {}, t('fleet.state_history')), life)),
    h('section', { class: 'card' }, h('h2', {}, t('fleet.registration')), registration));
  const loading = refresher(load, { everyMs: EVERY_MS, atOnce: false });
  const stop = onEntries((batch) => { if (batch.some(({ kind, body }) => body.worker === id && /^(sim|range)_/.test(kind))) loading.touch(); });
  return () => { loading.close(); stop(); };
}

function drawFacts(facts, worker) {
  const line = (label, ...value) => [h('dt', {}, label), h('dd', {}, value)];
  fill(facts,
    line(t('fleet.state'), badge(worker.state), ` ${t('fleet.since', { at: moment(worker.stateSince) })}`),
    line(t('fleet.last_seen'), moment(worker.lastHeartbeat)),
    line(t('fleet.works_on'), worker.tasks.length ? worker.tasks.map((task) => h('div', {}, idLink('range', task))) : '–'),
    line(t('fleet.rate'), t('overview.per_second', { n: worker.rate ?? 0 })),
    line(t('fleet.pressure'), pressure(worker)),
    line(t('fleet.queue'), percent(worker.queueRatio)),
    line(t('fleet.failures'), number(worker.failures)),
    line(t('fleet.slots_head'), number(worker.slots)),
    line(t('fleet.first_seen'), moment(worker.registeredAt)));
}

/** Changes of state, newest first, each with how long the state lasted. */
function stations({ transitions }) {
  return transitions.map((change, index) => {
    const next = transitions[index + 1];
    return h('li', {}, badge(change.to), ' ', h('time', { class: 'quiet' }, moment(change.at)), next && h('span', { class: 'quiet' }, ` · ${t('fleet.lasted', { span: span(next.at - change.at) })}`), h('div', {}, change.cause));
  }).reverse();
}
