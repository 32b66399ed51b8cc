// The overview: its figures are those of the server, and what happens appears as it happens.

import assert from 'node:assert/strict';
import { act, eventually, fresh, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { endedRun, endlessRun, failedRun, returnDevices, submitRun } from './work.mjs';

/** The figure of a card by its heading. */
const card = (scene, key) => scene.page.locator('.card').filter({ has: scene.page.getByRole('heading', { level: 2, name: scene.t(key), exact: true }) });
const figure = async (scene, key) => card(scene, key).locator('.figure').textContent();
const lines = (scene) => scene.page.getByRole('list', { name: scene.t('overview.events') }).getByRole('listitem');

inEveryLanguage('overview: figures are those of the server, also after something happened', { role: 'VIEWER', path: '#/overview' }, async (scene) => {
  await endedRun(await submitRun({ pcs: ['PC-02'] }));
  await failedRun({ 'sim-0001': 'adb_offline' });
  const queue = fresh('queue');
  const running = await endlessRun({ devices: ['sim-0002', 'sim-0003'], queue });
  const behind = await submitRun({ devices: ['sim-0004'], queue });
  const number = (value) => new Intl.NumberFormat(scene.language).format(value);
  const sum = (counts) => counts.reduce((all, count) => all + count, 0);
  await eventually('the page says what the server says', async () => {
    const { devices, slots, nodes, runs, throughput, failures, leader } = await read('/api/overview');
    const expected = [
      devices.running === 2 && devices.error === 1,
      (await figure(scene, 'overview.devices')) === number(devices.total),
      (await figure(scene, 'overview.slots')) === scene.t('overview.of', { part: slots.used, whole: slots.target }),
      (await figure(scene, 'overview.nodes')) === scene.t('overview.of', { part: nodes.online + nodes.draining, whole: nodes.online + nodes.draining + nodes.offline }),
      (await figure(scene, 'nav.runs')) === number(runs.running + runs.pending),
      (await card(scene, 'overview.tasks').locator('li b').allTextContents()).join() === [throughput.tasks_ok, throughput.tasks_failed].map(sum).map(number).join(),
      (await card(scene, 'overview.failures').locator('li').count()) === failures.length && failures.length > 0,
      (await card(scene, 'overview.leader').textContent()).includes(leader.address),
    ];
    return expected.every(Boolean);
  }, 30000);
  await eventually('the devices are counted', async () => {
    const counts = await card(scene, 'overview.devices').locator('.tally b').allTextContents();
    const { devices } = await read('/api/overview');
    return counts.join() === [devices.running, devices.idle, devices.error, devices.offline].map(number).join();
  });
  const { oldest_waiting: oldest } = await read('/api/overview');
  await card(scene, 'overview.oldest').getByRole('link', { name: scene.t('why.ask') }).waitFor();
  assert.ok((await card(scene, 'overview.oldest').getByRole('link').first().getAttribute('href')).includes(oldest.id));
  await scene.checkAccess();
  await act('POST', `/api/runs/${running}/cancel`);
  await act('POST', `/api/runs/${behind}/cancel`);
  await returnDevices();
});

inEveryLanguage('overview: alerts stand first, the worst of them before the others; each can be put away, and brought back', { role: 'VIEWER' }, async (scene) => {
  const at = Date.now();
  const kinds = ['summary_mismatch', 'mass_dropout', 'summary_mismatch', 'mass_dropout', 'summary_mismatch'];
  const alerts = kinds.map((kind, n) => ({ id: `alert-${n}`, kind, pc_id: `PC-0${n + 1}`, run_id: null, message: `what happened (${n})`, at: at + n }));
  await scene.page.route('**/api/overview', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), alerts } });
  });
  await scene.open('#/overview');
  const region = scene.page.getByRole('region', { name: scene.t('overview.alerts'), exact: true });
  const nodes = () => region.getByRole('listitem').evaluateAll((items) => items.map((item) => item.querySelector('a').textContent).join());
  await eventually('three are shown', async () => (await nodes()) === 'PC-04,PC-02,PC-05');
  assert.ok((await region.boundingBox()).y < (await scene.page.locator('.tiles').boundingBox()).y, 'above the figures');
  assert.equal(await region.locator('[aria-live], [role=status], [role=alert]').count(), 0);
  assert.match(await region.getByRole('link', { name: scene.t('why.ask') }).first().getAttribute('href'), /why\/node\/PC-04/);
  await scene.checkAccess();
  await scene.shot(`overview with alerts ${scene.language}`);
  await region.getByRole('button', { name: scene.t('overview.alerts_more', { n: 2 }), exact: true }).click();
  await eventually('all are shown', async () => (await nodes()) === 'PC-04,PC-02,PC-05,PC-03,PC-01');

  for (let left = 5; left > 0; left--) {
    await region.getByRole('button', { name: scene.t('overview.put_away_one', { alert: '' }).split(',')[0] }).first().click();
    await eventually('one less', async () => (await region.getByRole('listitem').count()) === left - 1);
  }
  await scene.page.reload();
  const back = region.getByRole('button', { name: scene.t('overview.alerts_away', { n: 5 }), exact: true });
  await back.waitFor();
  assert.equal(await region.getByRole('listitem').count(), 0);
  await back.click();
  await eventually('they are back', async () => (await nodes()) === 'PC-04,PC-02,PC-05');
});

inEveryLanguage('overview: what happens is told as it happens; filtered; held', { role: 'VIEWER', path: '#/overview' }, async (scene) => {
  await scene.page.getByText(scene.t('shell.standing_live'), { exact: true }).waitFor();
  const told = (key, values) => lines(scene).filter({ hasText: scene.t(key, values) }).first().waitFor();
  await act('POST', '/api/nodes/PC-02/drain');
  await told('event.worker_draining', { worker: 'PC-02' });
  await act('POST', '/api/nodes/PC-02/resume');
  await told('event.worker_resumed', { worker: 'PC-02' });
  await scene.field('overview.events_filter').fill('worker_draining');
  assert.equal(await lines(scene).count(), 0);
  await act('POST', '/api/nodes/PC-02/drain');
  await act('POST', '/api/nodes/PC-02/resume');
  await told('event.worker_draining', { worker: 'PC-02' });
  assert.equal(await lines(scene).count(), 1);

  await scene.field('overview.events_filter').fill('schedule_');
  await scene.button('overview.pause').click();
  const one = await act('POST', '/api/schedules', { cron: '0 6 * * *', run: { workflow_id: 'hello', title: fresh('held') } });
  await scene.page.waitForResponse((response) => response.url().endsWith('/api/overview'));
  assert.equal(await lines(scene).count(), 0);
  await scene.button('overview.go_on').click();
  await lines(scene).filter({ hasText: one.schedule_id.slice(-6) }).first().waitFor();
  await act('DELETE', `/api/schedules/${one.schedule_id}`);
});

test('overview: every step is told on request', { role: 'VIEWER', path: '#/overview' }, async (scene) => {
  await scene.page.getByText(scene.t('shell.standing_live'), { exact: true }).waitFor();
  await scene.field('overview.steps').check();
  await scene.field('overview.events_filter').fill('sim-0101');
  await endedRun(await submitRun({ devices: ['sim-0101'] }));
  await lines(scene).filter({ hasText: 'sim-0101' }).first().waitFor();
});

inEveryLanguage('overview: N8c, S6, S23b: every kind of alert has words, and leads to what it is about', { role: 'VIEWER' }, async (scene) => {
  const told = {
    heartbeat_late: ['PC-01', '#/fleet/node/PC-01'], event_conflict: ['PC-02', '#/fleet/node/PC-02'], worker_zombie: ['W1', '#/fleet/worker/W1'],
    chunkIntegrity: ['W2', '#/fleet/worker/W2'], frames_skipped: ['W2', '#/sessions/shot-7', 'session shot-7 was completed without some of its frames: 1 frame missing, [3, 4): no license'],
  };
  const alerts = Object.entries(told).map(([kind, [id, , message]], n) => ({ id: `alert-${n}`, kind, pc_id: id, run_id: null, message: message ?? 'what happened', at: Date.now() }));
  await scene.page.route('**/api/overview', async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, json: { ...(await response.json()), alerts } });
  });
  await scene.open('#/overview');
  const region = scene.page.getByRole('region', { name: scene.t('overview.alerts'), exact: true });
  await region.getByRole('button', { name: scene.t('overview.alerts_more', { n: 2 }), exact: true }).click();
  for (const [kind, [, address]] of Object.entries(told)) {
    const item = region.getByRole('listitem').filter({ has: scene.page.getByText(scene.t(`overview.alert_${kind}`), { exact: true }) });
    assert.equal(await item.getByRole('link').first().getAttribute('href'), address, kind);
  }
  await scene.checkAccess();
  await scene.checkWords();
  await scene.shot(`overview with all alerts ${scene.language}`);
});

inEveryLanguage('overview: Q7b: the end of a partial run is not told as a success', { role: 'VIEWER', path: '#/overview' }, async (scene) => {
  await scene.page.getByText(scene.t('shell.standing_live'), { exact: true }).waitFor();
  await scene.field('overview.events_filter').fill('job_ended');
  const run = await endedRun(await submitRun({ simulate: { devices: { 'sim-0018': { fail_step: 'LOGIN_FLOW', failure_reason: 'adb_offline' } } }, devices: ['sim-0018', 'sim-0019'] }));
  assert.equal(run.outcome, 'partial');
  const [, after] = scene.t('event.job_ended_partial', { job: '…' }).split('…');
  await lines(scene).filter({ hasText: after }).filter({ hasText: run.run_id.slice(-6) }).first().waitFor();
  await returnDevices();
});
