// Runs: lists, bulk actions, retries, and one run in every detail.

import assert from 'node:assert/strict';
import { act, eventually, fresh, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { audited, endedRun, endlessRun, failedRun, returnDevices, submitRun } from './work.mjs';

const runOf = (id) => read(`/api/runs/${id}`);
const idOf = (page) => decodeURIComponent(new URL(page.url()).hash.split('/')[2]);
const choose = (scene, id) => scene.page.getByRole('checkbox', { name: scene.t('shell.choose', { id }) }).check();
/** The bar of what is chosen. */
const bulk = (scene, key) => scene.page.locator('.bulk').getByRole('button', { name: scene.t(key), exact: true });
const region = (scene, key) => scene.page.getByRole('region', { name: scene.t(key), exact: true });

inEveryLanguage('runs: searched, filtered by status and queue; several are cancelled with a reason', { role: 'OPERATOR', path: '#/runs' }, async (scene) => {
  const [title, queue] = [fresh('endless'), fresh('queue')];
  const reason = `${title} was a mistake`;
  const ids = [await endlessRun({ title: `${title} a`, queue, pcs: ['PC-01'] }), await endlessRun({ title: `${title} b`, pcs: ['PC-01'] })];
  const done = await endedRun(await submitRun({ title: `${title} done`, devices: ['sim-0101'] }));
  await scene.row(`${title} done`).getByText(scene.t('status.success'), { exact: true }).waitFor();
  await scene.field('runs.search').fill(title.toUpperCase());
  const rows = () => scene.page.locator('tbody tr').count();
  await eventually('three are found', async () => (await rows()) === 3);
  await scene.page.locator('select[name=queue]').selectOption(queue);
  await eventually('one is in the queue', async () => (await rows()) === 1);
  await scene.row(`${title} a`).waitFor();
  await scene.page.locator('select[name=queue]').selectOption('');
  await scene.page.locator('select[name=status]').selectOption('success');
  await eventually('one is over', async () => (await rows()) === 1);
  await scene.row(`${title} done`).waitFor();
  assert.ok(scene.page.url().includes('status=success'));
  await scene.page.locator('select[name=status]').selectOption('');
  await eventually('all are there again', async () => (await rows()) === 3);

  for (const id of [...ids, done.run_id]) await choose(scene, id);
  await bulk(scene, 'runs.cancel').click();
  await scene.dialog.getByText(scene.t('runs.cancel_what')).waitFor();
  await scene.checkAccess();
  await scene.shot(`runs bulk cancel ${scene.language}`);
  await scene.dialog.locator('textarea[name=reason]').fill(reason);
  await scene.dialog.getByRole('button', { name: scene.t('runs.cancel_confirm', { n: 2 }), exact: true }).click();
  await scene.told('runs.cancelled_many', { n: 2 });
  for (const id of ids) assert.equal((await runOf(id)).status, 'cancelled');
  assert.equal((await runOf(done.run_id)).status, 'success');
  assert.equal((await audited(reason)).length, 2);
});

inEveryLanguage('runs: a list says what is done, runs, waits and failed, and asks for nothing else', { role: 'VIEWER' }, async (scene) => {
  const title = fresh('parts');
  const simulate = { hang_step: 'LOGIN_FLOW', devices: { 'sim-0021': { hang_step: null, fail_step: 'LOGIN_FLOW', failure_reason: 'adb_offline' } } };
  const id = await submitRun({ title, simulate, devices: ['sim-0021', 'sim-0022', 'absent-1', 'absent-2'], queue: fresh('queue') });
  await eventually('one failed, one runs', async () => { const { counts } = await runOf(id); return counts.failed === 1 && counts.running === 1; });
  const asked = [];
  scene.page.on('request', (request) => { if (/\/api\/runs\//.test(request.url())) asked.push(request.url()); });
  await scene.open('#/runs');
  const bar = scene.row(title).getByRole('img');
  const parts = { running: 1, failed: 1, pending: 2 };
  await eventually('the bar says it', async () => {
    const words = await bar.getAttribute('aria-label');
    return Object.entries(parts).every(([status, count]) => words.includes(`${scene.t(`status.${status}`)}: ${count}`));
  });
  const widths = await bar.locator('span').evaluateAll((spans) => spans.map((span) => [span.className, Math.round(parseFloat(span.style.width))]));
  assert.deepEqual(widths, [['tone-busy', 25], ['tone-bad', 25], ['tone-empty', 50]]);
  await scene.row(title).getByText(scene.t('runs.done_of', { done: 0, total: 4 })).waitFor();
  await scene.shot(`runs with parts ${scene.language}`);
  await scene.settled();
  assert.deepEqual(asked, []);
  await act('POST', `/api/runs/${id}/cancel`);
  await returnDevices();
});

inEveryLanguage('runs: of several, those devices are tried again that failed for one reason', { role: 'OPERATOR', path: '#/runs' }, async (scene) => {
  const title = fresh('mixed');
  const one = await failedRun({ 'sim-0001': 'adb_offline', 'sim-0002': 'adb_offline', 'sim-0003': 'login_flow_timeout' }, { title: `${title} one` });
  await returnDevices();
  const other = await failedRun({ 'sim-0004': 'login_flow_timeout' }, { title: `${title} other` });
  await returnDevices();
  const { failures } = await read(`/api/runs/${one.run_id}/failures`);
  const wanted = failures.find(({ count }) => count === 2).error;
  for (const run of [one, other]) {
    await scene.row(run.title).getByText(scene.t('status.failed'), { exact: true }).waitFor();
    await choose(scene, run.run_id);
  }
  await bulk(scene, 'runs.retry_failed').click();
  await scene.dialog.getByText(scene.t('runs.retry_all', { n: 4 }), { exact: true }).waitFor();
  await scene.checkAccess();
  await scene.dialog.getByText(scene.t('runs.retry_these', { n: 2, error: wanted }), { exact: true }).click();
  await scene.confirm('runs.retry_confirm', 'the hub is back');
  await eventually('the new run is shown', () => ![one.run_id, other.run_id, undefined].includes(idOf(scene.page)));
  const { task_devices: rows } = await read(`/api/runs/${idOf(scene.page)}/task_devices`);
  assert.deepEqual(rows.map((row) => row.device_id).sort(), ['sim-0001', 'sim-0002']);
  assert.equal((await runOf(one.run_id)).counts.failed, 3, 'ended stays ended');
  await endedRun(idOf(scene.page));
  await returnDevices();
});

inEveryLanguage('runs: a new one is started, where the form says', { role: 'OPERATOR', path: '#/runs', refusals: [422] }, async (scene) => {
  const title = fresh('started');
  await scene.button('runs.new').click();
  await scene.field('runs.title_for_people').fill(title);
  await scene.dialog.locator('select[name=scope]').selectOption('devices');
  await scene.dialog.locator('textarea[name=names]').fill('sim-0101, sim-0102, sim-01O3');
  await scene.field('runs.params').fill('{"simulate": ');
  await scene.dialog.getByRole('button', { name: scene.t('runs.start'), exact: true }).click();
  await scene.dialog.getByRole('alert').filter({ hasText: scene.t('runs.params') }).waitFor();
  await scene.checkAccess();
  await scene.field('runs.params').fill('{"simulate": {"step_ms": 1}}');
  await scene.dialog.locator('input[name=attempts]').fill('2');
  await scene.confirm('runs.start');
  await scene.page.getByRole('status').getByText(scene.t('runs.warning_unknown_device', { name: 'sim-01O3' })).waitFor();
  await scene.page.getByRole('heading', { level: 1, name: title }).waitFor();
  const run = await endedRun(idOf(scene.page));
  assert.deepEqual([run.title, run.max_attempts, run.counts.completed], [title, 2, 2]);
  await scene.page.getByText(scene.t('status.success'), { exact: true }).first().waitFor();
});

inEveryLanguage('runs: one run with its progress, nodes, attempts, devices and their history', { role: 'VIEWER' }, async (scene) => {
  const title = fresh('detail');
  const simulate = { fail_step: 'UPLOAD', fail_attempts: 1, devices: { 'sim-0005': { fail_step: 'LOGIN_FLOW', failure_reason: 'adb_offline', fail_attempts: 9 } } };
  const run = await endedRun(await submitRun({ title, simulate, devices: ['sim-0005', 'sim-0006', 'sim-0101'], max_attempts: 2 }));
  await returnDevices();
  await scene.open(`#/runs/${run.run_id}`);
  const figures = async () => (await region(scene, 'runs.progress').locator('.tally b').allTextContents()).map(Number).toSorted().join();
  const { completed, running, failed, cancelled, pending } = run.counts;
  await eventually('the figures say it', async () => (await figures()) === [completed, running, failed, cancelled, pending].toSorted().join());
  assert.deepEqual([completed, failed], [2, 1]);
  const byNode = region(scene, 'runs.per_node');
  for (const pc of Object.keys(run.per_pc)) await byNode.getByRole('link', { name: pc }).waitFor();

  const { attempts } = await read(`/api/runs/${run.run_id}/attempts?limit=1000`);
  const bars = scene.page.locator('.gantt-bar');
  await eventually('every attempt is a bar', async () => (await bars.count()) === attempts.length);
  assert.equal(attempts.length, 6);
  await scene.button('shell.as_table').click();
  const toldOf = (values) => scene.t('runs.attempt_words', { node: 'PC-01', span: '…', ...values }).split('…');
  for (const part of toldOf({ device: 'sim-0006', attempt: 2, outcome: scene.t('runs.outcome_succeeded') })) await scene.page.getByRole('cell', { name: part }).first().waitFor();
  const why = scene.t('runs.outcome_why', { outcome: scene.t('runs.outcome_failed'), why: attempts.find(({ device_id: id }) => id === 'sim-0005').error });
  await scene.page.getByRole('cell', { name: why }).first().waitFor();
  await scene.checkAccess();
  await scene.shot(`run ${scene.language}`);

  const rows = region(scene, 'runs.rows');
  await scene.page.locator('select[name=row_status]').selectOption('failed');
  await eventually('one device failed', async () => (await rows.locator('tbody tr').count()) === 1);
  await rows.getByRole('button', { name: scene.t('runs.history_of', { device: 'sim-0005' }) }).click();
  for (const station of ['CREATED', 'SENT', 'FAILED', 'RETRY_SCHEDULED', 'FAILED_FINAL']) await scene.dialog.getByText(scene.t(`runs.station_${station}`), { exact: true }).first().waitFor();
  await scene.checkAccess();
  await scene.page.keyboard.press('Escape');
  await scene.dialog.waitFor({ state: 'detached' });
});

inEveryLanguage('runs: pictures are shown, and enlarged', { role: 'VIEWER' }, async (scene) => {
  const run = await endedRun(await submitRun({ devices: ['kiosk-01', 'kiosk-02'] }));
  assert.equal(run.status, 'success');
  await scene.open(`#/runs/${run.run_id}`);
  const pictures = scene.page.getByRole('list', { name: scene.t('runs.artifacts') }).getByRole('button');
  await pictures.nth(1).waitFor();
  await pictures.first().scrollIntoViewIfNeeded();
  await eventually('both are loaded', () => pictures.locator('img').evaluateAll((images) => images.length === 2 && images.every((image) => image.naturalWidth === 216)));
  await pictures.first().click();
  await eventually('it is large', () => scene.dialog.locator('img').evaluate((image) => image.naturalHeight === 384));
  await scene.checkAccess();
  await scene.shot(`run picture ${scene.language}`);
  const [download] = await Promise.all([scene.page.waitForEvent('download'), scene.dialog.getByRole('link', { name: scene.t('shell.save') }).click()]);
  assert.match(download.suggestedFilename(), /\.png$/);
});

test('runs: one failure of a run is tried again; what runs moves by itself and is cancelled', { role: 'OPERATOR' }, async (scene) => {
  const failed = await failedRun({ 'sim-0010': 'adb_offline' });
  await returnDevices();
  await scene.open(`#/runs/${failed.run_id}`);
  await region(scene, 'runs.failures').getByRole('button', { name: scene.t('runs.retry'), exact: true }).click();
  await scene.confirm('runs.retry_confirm', 'once more');
  await eventually('another run is shown', () => idOf(scene.page) !== failed.run_id);
  await returnDevices();

  const endless = await endlessRun({ devices: ['sim-0011', 'sim-0012'] });
  await scene.open(`#/runs/${endless}`);
  await scene.page.getByText(scene.t('status.running'), { exact: true }).first().waitFor();
  await scene.button('runs.cancel').click();
  const { title } = await runOf(endless);
  await scene.dialog.getByRole('heading', { name: scene.t('runs.cancel_title', { run: title }), exact: true }).waitFor();
  await scene.dialog.getByText(scene.t('runs.cancel_one_what', { pending: 0, running: 2 })).waitFor();
  await scene.button('shell.keep_it').click();
  await scene.dialog.waitFor({ state: 'detached' });
  assert.equal((await runOf(endless)).status, 'running', 'it was kept');
  await scene.button('runs.cancel').click();
  await scene.confirm('runs.cancel_confirm', 'seen enough', { n: 1 });
  await eventually('it is cancelled', async () => (await runOf(endless)).status === 'cancelled');
  await scene.page.locator('.heading .badge').getByText(scene.t('status.cancelled'), { exact: true }).waitFor();
  assert.equal((await audited('seen enough')).length, 1);
});

inEveryLanguage('runs: Q7b: a run that left devices out is a partial success, in the list and on its page', { role: 'VIEWER', path: '#/runs' }, async (scene) => {
  const title = fresh('partial');
  const simulate = { devices: { 'sim-0015': { fail_step: 'LOGIN_FLOW', failure_reason: 'adb_offline' } } };
  const run = await endedRun(await submitRun({ title, simulate, devices: ['sim-0015', 'sim-0016', 'sim-0017'] }));
  assert.deepEqual([run.status, run.outcome], ['success', 'partial']);
  await returnDevices();
  const [partial, missing] = [scene.t('status.partial'), scene.t('runs.result_partial', { n: 1 })];
  await scene.row(title).locator('.badge.warn').getByText(partial, { exact: true }).waitFor();
  await scene.row(title).getByText(missing, { exact: true }).waitFor();
  assert.equal(await scene.row(title).getByText(scene.t('status.success'), { exact: true }).count(), 0);
  await scene.shot(`runs with a partial one ${scene.language}`);
  await scene.open(`#/runs/${run.run_id}`);
  await scene.page.locator('.heading .badge.warn').getByText(partial, { exact: true }).waitFor();
  await scene.page.locator('.heading').getByText(missing).waitFor();
  await scene.checkAccess();
  await scene.shot(`partial run ${scene.language}`);

  const whole = await endedRun(await submitRun({ devices: ['sim-0016', 'sim-0017'] }));
  await scene.open(`#/runs/${whole.run_id}`);
  await scene.page.locator('.heading .badge.good').getByText(scene.t('status.success'), { exact: true }).waitFor();
  await scene.page.locator('.heading').getByText(scene.t('runs.result_complete')).waitFor();
});
