// Workers of sessions: where each stands, what it does, and what can be done about it.

import { get, may } from '../../api.js';
import { fill, h } from '../../dom.js';
import { onEntries } from '../../live.js';
import { badge } from '../../parts/badge.js';
import { idLink } from '../../parts/links.js';
import { refresher } from '../../parts/refresh.js';
import { table } from '../../parts/table.js';
import { why } from '../../parts/why_link.js';
import { moment, number, statusWord, t } from '../../text.js';
import { approveWorker, quarantineWorker, removeWorker, removeZombie } from './acts.js';

const EVERY_MS = 5000;

export async function simWorkers(root, { signal }) {
  const list = table({
    caption: t('fleet.tab_sim'), id: (worker) => worker.workerId, empty: t('fleet.no_sim'),
    columns: [
      { label: t('fleet.worker'), show: (worker) => idLink('worker', worker.workerId) },
      { label: t('fleet.state'), show: (worker) => [badge(worker.state), isZombie(worker) && h('span', { class: 'under' }, t('fleet.zombie_short'))] },
      { label: t('fleet.since_head'), show: (worker) => moment(worker.stateSince) },
      { label: t('fleet.rate'), number: true, show: (worker) => t('overview.per_second', { n: worker.rate ?? 0 }) },
      { label: t('fleet.works_on'), show: (worker) => (worker.tasks.length ? worker.tasks.map((task) => h('div', {}, idLink('range', task))) : '–') },
      { label: t('fleet.failures'), number: true, show: (worker) => number(worker.failures) },
      { label: t('fleet.pressure'), show: (worker) => pressure(worker) },
      { label: t('fleet.actions'), show: (worker) => workerActs(worker, () => loading.touch()) },
    ],
  });
  const load = async () => list.set((await get('/api/v1/workers', {}, signal)).workers.map(steady));
  fill(root, h('p', { class: 'quiet' }, t('fleet.sim_lead')), list.element);
  await load();
  const loading = refresher(load, { everyMs: EVERY_MS, atOnce: false });
  const stop = onEntries((batch) => { if (batch.some(({ kind }) => /^(sim_|range_)/.test(kind))) loading.touch(); });
  return () => { loading.close(); stop(); };
}

/** What is shown of a worker: what changes with every sign of life and is not shown would have its row drawn anew. */
const steady = ({ workerId, state, stateSince, tasks, rate, failures, backpressure, queueRatio }) =>
  ({ workerId, state, stateSince, tasks, rate: Math.round(rate ?? 0), failures, backpressure, queueRatio: Math.round(100 * queueRatio) / 100 });

/** How full a worker's queue is, and what follows from it. */
export const pressure = ({ backpressure: { level, factor } }) => (level === 'ok' ? statusWord('ok') : t('fleet.pressure_at', { level: statusWord(level), factor }));

/** Whether a worker was removed, but still calls or never answered (S6). */
export const isZombie = ({ state }) => state === 'zombie';

/** What can be done with a worker, for whoever may. A zombie can only be removed once more. */
export function workerActs({ workerId: id, state, tasks }, acted) {
  const zombie = isZombie({ state });
  const button = (label, named, act) => h('button', { class: 'small', 'data-held': tasks.length, 'aria-label': named, onClick: async () => { if (await act()) acted(); } }, label);
  const acts = may.operate() && state !== 'Removed' && [
    !zombie && (state === 'Quarantined'
      ? button(t('fleet.approve'), t('fleet.approve_worker', { worker: id }), () => approveWorker(id))
      : button(t('fleet.quarantine'), t('fleet.quarantine_worker', { worker: id }), () => quarantineWorker(id, tasks.length))),
    button(t('fleet.remove'), t('fleet.remove_worker', { worker: id }), () => (zombie ? removeZombie(id) : removeWorker(id, tasks.length))),
  ];
  return h('div', { class: 'row-acts' }, why('worker', id), acts);
}
