// Tries failed devices again, in a new run: ended stays ended.

import { get, post } from '../../api.js';
import { onceKey } from '../../parts/act_button.js';
import { forEach } from '../../parts/bulk.js';
import { ask, perform } from '../../parts/dialog.js';
import { checkBox, radios } from '../../parts/fields.js';
import { notice } from '../../parts/notice.js';
import { sumUp } from '../../parts/reasons.js';
import { go } from '../../router.js';
import { t } from '../../text.js';
import { nameOf } from '../runs.js';

const path = (id, what) => `/api/runs/${encodeURIComponent(id)}/${what}`;

/** Asks which failures of these runs are to be tried again, and has a new run made for each run that has some. */
export async function retryChosen(runs, signal) {
  let byRun;
  const found = await perform(async () => { byRun = await failuresOf(runs, signal); });
  if (!found) return;
  const reasons = sumUp(byRun);
  const total = reasons.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) return notice(t('runs.retry_nothing'));
  const once = onceKey();
  const options = [['', t('runs.retry_all', { n: total })], ...reasons.map(([error, n]) => [error, t('runs.retry_these', { n, error })])];
  await ask({
    title: runs.length === 1 ? t('runs.retry_title', { run: nameOf(runs[0]) }) : t('runs.retry_many', { n: runs.length }), what: t('runs.retry_what'), confirm: t('runs.retry_confirm'), reason: 'optional',
    fields: [radios('error', t('runs.retry_which'), options), returning()],
    act: async ({ reason, form }) => {
      const error = form.get('error');
      const meant = byRun.filter(({ failures }) => failures.some((failure) => !error || failure.error === error));
      const made = [];
      await forEach(meant, async ({ id }) => made.push(await post(path(id, 'retry'), { failure_reason: error || undefined, ...returned(form) }, { reason, once: `${once}.${id}`.slice(0, 128) })), (n) => t('runs.retried', { n }));
      if (made.length === 1) go('runs', made[0].run_id);
    },
  });
}

/** Devices that failed for good are out of service, and a run over them alone would wait for them. */
const returning = () => checkBox('return', t('runs.retry_return'), true);
const returned = (form) => ({ return_to_service: form.has('return') });

async function failuresOf(runs, signal) {
  const all = runs.map(async ({ run_id: id }) => ({ id, failures: (await get(path(id, 'failures'), {}, signal)).failures }));
  return Promise.all(all);
}

/** Tries the devices of one run again that failed for one reason. */
export async function retryReason(run, { error, count }) {
  const once = onceKey();
  let made;
  const isDone = await ask({
    title: t('runs.retry_reason', { n: count, error }), what: t('runs.retry_what'), confirm: t('runs.retry_confirm'), reason: 'optional',
    fields: [returning()],
    act: async ({ reason, form }) => { made = await post(path(run.run_id, 'retry'), { failure_reason: error, ...returned(form) }, { reason, once }); },
    done: t('runs.retried', { n: 1 }),
  });
  if (isDone) go('runs', made.run_id);
}
