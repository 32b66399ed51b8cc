// Jobs of the pool: handed in, cancelled, tried again; and receipts, which hold or do not.

import assert from 'node:assert/strict';
import { act, ask, eventually, fresh, read, tokenOf } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { audited } from './work.mjs';

const jobOf = (id) => read(`/jobs/${id}`);
const idOf = (page) => Number(new URL(page.url()).hash.split('/')[2]);
const over = (id) => eventually(`job ${id} is over`, async () => (['completed', 'failed', 'cancelled'].includes((await jobOf(id)).status) ? jobOf(id) : null));
const submit = (payload, more = {}) => act('POST', '/jobs', { payload, ...more });
/** A job that waits: no worker is in that region. */
const waiting = (mark) => submit({ op: 'sum', values: [1], mark }, { region: 'nowhere' });
const choose = (scene, id) => scene.page.getByRole('checkbox', { name: scene.t('shell.choose', { id }), exact: true }).check();

inEveryLanguage('jobs: a new one is handed in and done, and its receipt holds', { path: '#/jobs' }, async (scene) => {
  await scene.button('jobs.new').click();
  await scene.field('jobs.payload_json').fill('{"op": "sum", "values": [20, 22');
  await scene.dialog.getByRole('button', { name: scene.t('jobs.start'), exact: true }).click();
  await scene.dialog.getByRole('alert').filter({ hasText: scene.t('jobs.payload_json') }).waitFor();
  await scene.field('jobs.payload_json').fill('{"op": "sum", "values": [20, 22]}');
  await scene.dialog.locator('input[name=priority]').fill('7');
  await scene.checkAccess();
  await scene.confirm('jobs.start');
  await eventually('it is shown', () => idOf(scene.page) > 0);
  const job = await over(idOf(scene.page));
  assert.deepEqual([job.status, job.priority], ['completed', 7]);
  await scene.button('jobs.verify').click();
  await scene.page.getByText(scene.t('jobs.verified'), { exact: true }).waitFor();
  assert.equal(await scene.page.locator('.checks-made .bad').count(), 0);
  const { public_key: key } = await read(`/jobs/${job.id}/receipt`);
  await scene.field('jobs.expected_key').fill(key);
  await scene.button('jobs.verify').click();
  await scene.page.getByText(scene.t('jobs.proves_with_key')).waitFor();
  await scene.checkAccess();
  await scene.shot(`job with a receipt ${scene.language}`);
  const other = (await read('/api/pool/workers')).workers.find(({ public_key: own }) => own !== key).public_key;
  await scene.field('jobs.expected_key').fill(other);
  await scene.button('jobs.verify').click();
  await scene.page.getByText(scene.t('jobs.refuted'), { exact: true }).waitFor();
});

/** The receipt with another signature: its own, or that of its batch. */
function otherSignature(receipt) {
  const { signature } = receipt.batch ?? receipt;
  const changed = { signature: `${signature[0] === 'A' ? 'B' : 'A'}${signature.slice(1)}` };
  return receipt.batch ? { ...receipt, batch: { ...receipt.batch, ...changed } } : { ...receipt, ...changed };
}

/** What somebody on the way may have changed in a receipt, and the check that finds it out. */
const FORGERIES = {
  output_hash: [(receipt) => ({ ...receipt, output_hash: `${receipt.output_hash.slice(0, -1)}${receipt.output_hash.endsWith('0') ? '1' : '0'}` }), 'output_hash'],
  signature: [otherSignature, 'signature'],
  job: [(receipt) => ({ ...receipt, job_id: receipt.job_id + 1 }), 'job'],
  fields: [(receipt) => ({ ...receipt, note: 'trust me' }), 'fields'],
};

for (const [what, [forge, check]] of Object.entries(FORGERIES)) {
  test(`jobs: a receipt with another ${what} proves nothing`, {}, async (scene) => {
    const { id } = await over((await submit({ op: 'sum', values: [1, 2] })).id);
    await scene.page.route(`**/jobs/${id}/receipt`, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: forge(await response.json()) });
    });
    await scene.open(`#/jobs/${id}`);
    await scene.button('jobs.verify').click();
    await scene.page.getByText(scene.t('jobs.refuted'), { exact: true }).waitFor();
    await scene.page.locator('.checks-made .bad').getByText(scene.t(`jobs.check_${check}`)).waitFor();
  });
}

inEveryLanguage('jobs: searched, filtered; several are cancelled with a reason and tried again', { path: '#/jobs' }, async (scene) => {
  const mark = fresh('mark');
  const jobs = [await waiting(mark), await waiting(mark)];
  await scene.field('jobs.search').fill(mark);
  const rows = async (count) => eventually(`${count} are shown`, async () => (await scene.page.locator('tbody tr').count()) === count);
  await rows(2);
  for (const { id } of jobs) await choose(scene, id);
  await scene.page.locator('.bulk').getByRole('button', { name: scene.t('jobs.cancel'), exact: true }).click();
  await scene.dialog.locator('textarea[name=reason]').fill(`${mark} is over`);
  await scene.checkAccess();
  await scene.dialog.getByRole('button', { name: scene.t('jobs.cancel_confirm', { n: 2 }), exact: true }).click();
  await scene.told('jobs.cancelled_many', { n: 2 });
  for (const { id } of jobs) assert.equal((await jobOf(id)).status, 'cancelled');
  assert.equal((await audited(`${mark} is over`)).length, 2);
  await scene.page.locator('select[name=status]').selectOption('queued');
  await rows(0);
  await scene.page.locator('select[name=status]').selectOption('cancelled');
  await rows(2);
  for (const { id } of jobs) await choose(scene, id);
  await scene.page.locator('.bulk').getByRole('button', { name: scene.t('jobs.retry'), exact: true }).click();
  await scene.confirm('jobs.retry_confirm');
  await scene.told('jobs.retried', { n: 2 });
  await scene.page.locator('select[name=status]').selectOption('queued');
  await rows(2);
});

test('jobs: one that failed is tried again; one that waits is cancelled', {}, async (scene) => {
  const failed = await over((await submit({ op: 'sum' }, { max_attempts: 1 })).id);
  assert.equal(failed.status, 'failed');
  await scene.open(`#/jobs/${failed.id}`);
  await scene.page.getByText(failed.error_message).first().waitFor();
  await scene.button('jobs.retry').click();
  await scene.confirm('jobs.retry_confirm', 'to see it again');
  await eventually('another job is shown', () => idOf(scene.page) !== failed.id);
  assert.deepEqual((await jobOf(idOf(scene.page))).payload, failed.payload);

  const { id } = await waiting(fresh('mark'));
  await scene.open(`#/jobs/${id}`);
  await scene.button('jobs.cancel').click();
  await scene.dialog.locator('textarea[name=reason]').fill('no longer');
  await scene.dialog.getByRole('button', { name: scene.t('jobs.cancel_confirm', { n: 1 }), exact: true }).click();
  await eventually('it is cancelled', async () => (await jobOf(id)).status === 'cancelled');
});

test('jobs: what ends while its page is opened is shown as ended', {}, async (scene) => {
  const { id } = await waiting(fresh('mark'));
  await scene.open('#/jobs');
  await scene.page.getByText(scene.t('shell.standing_live'), { exact: true }).waitFor();
  let looks = 0;
  // The second look is the one the page is drawn from: its answer is old when it comes.
  await scene.page.route(`**/jobs/${id}`, async (route) => {
    const response = await route.fetch();
    if (++looks === 2) {
      await act('DELETE', `/jobs/${id}`);
      await scene.page.waitForTimeout(1000);
    }
    await route.fulfill({ response });
  });
  await scene.open(`#/jobs/${id}`);
  await scene.page.locator('.heading .badge').getByText(scene.t('status.cancelled'), { exact: true }).waitFor();
});

test('jobs: a client sees and steers its own, and no other', { user: 'carol', refusals: [404] }, async (scene) => {
  const mark = fresh('mark');
  const foreign = await waiting(mark);
  const { body: own } = await ask('POST', '/jobs', { payload: { op: 'sum', values: [1], mark }, region: 'nowhere' }, await tokenOf('carol'));
  await scene.open('#/jobs');
  await scene.row(mark).waitFor();
  assert.equal(await scene.row(mark).count(), 1);
  await scene.page.getByText(scene.t('jobs.lead_own', { name: 'carol' })).waitFor();
  await scene.open(`#/jobs/${own.id}`);
  await scene.button('jobs.cancel').waitFor();
  await scene.checkAccess();
  await scene.open(`#/jobs/${foreign.id}`);
  await scene.page.locator('main').getByRole('alert').waitFor();
});
