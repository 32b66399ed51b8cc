// Workers of the pool: whose they are, how far they are trusted, and what can be done about them.

import { get, may, me } from '../../api.js';
import { fill, h } from '../../dom.js';
import { onEntries } from '../../live.js';
import { badge } from '../../parts/badge.js';
import { refresher } from '../../parts/refresh.js';
import { table } from '../../parts/table.js';
import { why } from '../../parts/why_link.js';
import { moment, number, percent, t } from '../../text.js';
import { steerPoolWorker } from './acts.js';

const EVERY_MS = 10000;

/** All workers for who may read everything; for who may not, their own. */
export async function poolWorkers(root, { signal }) {
  const isOwn = !may.read();
  const list = table({
    caption: t('fleet.tab_pool'), id: (worker) => worker.id, empty: t('fleet.no_pool'),
    columns: [
      { label: t('fleet.number'), number: true, show: (worker) => number(worker.id) },
      { label: t('fleet.name'), show: (worker) => h('b', {}, worker.name) },
      !isOwn && { label: t('fleet.owner'), show: (worker) => t('fleet.user', { id: worker.owner_user_id }) },
      { label: t('fleet.state'), show: standing },
      { label: t('fleet.region'), show: (worker) => worker.region ?? '–' },
      { label: t('fleet.reputation'), number: true, show: (worker) => percent(worker.reputation) },
      { label: t('fleet.dissents'), number: true, show: (worker) => number(worker.dissents) },
      { label: t('fleet.last_seen'), show: (worker) => moment(worker.last_seen_at) },
      { label: t('fleet.actions'), show: (worker) => acts(worker, () => loading.touch()) },
    ].filter(Boolean),
  });
  const load = async () => list.set((await get(isOwn ? '/workers' : '/api/pool/workers', { limit: 1000 }, signal)).workers);
  fill(root, h('p', { class: 'quiet' }, t(isOwn ? 'fleet.pool_own' : 'fleet.pool_lead')), list.element);
  await load();
  const loading = refresher(load, { everyMs: EVERY_MS, atOnce: false });
  const stop = onEntries((batch) => { if (batch.some(({ kind }) => kind.startsWith('pool_worker_'))) loading.touch(); });
  return () => { loading.close(); stop(); };
}

const standing = (worker) => [
  badge(worker.status), worker.draining && [' ', badge('draining')],
  worker.ban_reason && h('div', { class: 'quiet' }, worker.ban_reason),
];

/** An owner steers their own workers; only an ADMIN shuts somebody out. */
function acts(worker, acted) {
  const button = (act) => h('button', {
    class: 'small', 'aria-label': t(`fleet.pool_${act}_title`, { name: worker.name }),
    onClick: async () => { if (await steerPoolWorker(act, worker)) acted(); },
  }, t(`fleet.pool_${act}`));
  const isOwner = may.ownWorkers() && me.id === worker.owner_user_id;
  return h('div', { class: 'row-acts' }, why('worker', worker.id, worker.name),
    isOwner && button(worker.draining ? 'resume' : 'drain'),
    may.administer() && button(worker.status === 'banned' || worker.ban_reason ? 'unban' : 'ban'));
}
