// Tries failed jobs again, as new jobs.

import { post } from '../../api.js';
import { onceKey } from '../../parts/act_button.js';
import { forEach } from '../../parts/bulk.js';
import { ask } from '../../parts/dialog.js';
import { radios } from '../../parts/fields.js';
import { groupBy } from '../../parts/reasons.js';
import { go } from '../../router.js';
import { statusWord, t } from '../../text.js';

/** Whether a job can be tried again. */
export const canRetry = ({ status }) => status === 'failed' || status === 'cancelled';

/** Asks which of these jobs are to be tried again, by error, and has new jobs made. Gives back whether that was done. */
export async function retryJobs(jobs) {
  const groups = groupBy(jobs, (job) => job.error_message ?? statusWord(job.status));
  const once = onceKey();
  const options = [['', t('jobs.retry_all', { n: jobs.length })], ...groups.map(([error, of]) => [error, t('jobs.retry_these', { n: of.length, error })])];
  const made = [];
  const isDone = await ask({
    title: jobs.length === 1 ? t('jobs.retry_title', { id: String(jobs[0].id) }) : t('jobs.retry_many', { n: jobs.length }), what: t('jobs.retry_what'), confirm: t('jobs.retry_confirm'), reason: 'optional',
    fields: groups.length > 1 ? [radios('error', t('jobs.retry_which'), options)] : [],
    act: async ({ reason, form }) => {
      const error = form.get('error');
      const meant = error ? groups.find(([name]) => name === error)[1] : jobs;
      await forEach(meant, async (job) => made.push(await post(`/jobs/${job.id}/retry`, undefined, { reason, once: `${once}.${job.id}` })), (n) => t('jobs.retried', { n }));
    },
  });
  if (isDone && jobs.length === 1 && made.length === 1) go('jobs', made[0].id);
  return isDone;
}
