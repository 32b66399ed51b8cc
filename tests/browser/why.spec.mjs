// Why something does not run: the sentence in the language of the page, and the way to what blocks it.

import assert from 'node:assert/strict';
import { act, eventually, fresh, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { endedRun, endlessRun, failedRun, returnDevices, submitRun } from './work.mjs';
import { wordsOf } from './words.mjs';

/** The sentence on the page says, in the language of the page, what the server's code means. */
async function says(scene, code) {
  const forms = wordsOf(scene.language, `cause.${code}`);
  // The page may still show the sentence before this one, or none yet.
  await eventually(`the page explains ${code}`, async () => {
    const text = await scene.page.locator('.sentence').textContent();
    return forms.some((form) => form.split(/\{\w+\}/).every((part) => text.includes(part)));
  });
  await scene.page.getByText(code, { exact: true }).first().waitFor();
}

inEveryLanguage('why: a run waits for a node that drains, which is a link away', { role: 'OPERATOR', path: '#/why' }, async (scene) => {
  await act('POST', '/api/nodes/PC-02/drain');
  try {
    const run = await submitRun({ devices: ['sim-0101'] });
    await scene.page.locator('main select[name=kind]').selectOption('run');
    await scene.page.locator('main input[name=id]').fill(run);
    await scene.page.locator('main').getByRole('button', { name: scene.t('why.ask'), exact: true }).click();
    const { code, data } = await read(`/api/explain/run/${run}`);
    assert.equal(data.node_id, 'PC-02', code);
    await scene.page.locator('.sentence').waitFor();
    await says(scene, code);
    await scene.checkAccess();
    await scene.shot(`why ${scene.language}`);
    await scene.page.locator('.further .follow').first().click();
    await scene.page.getByRole('navigation', { name: scene.t('why.trail') }).waitFor();
    const { code: further } = await read('/api/explain/node/PC-02');
    await says(scene, further);
    await scene.page.locator('.sentence').getByRole('link', { name: 'PC-02' }).first().click();
    await scene.heading('fleet.node_title', { id: 'PC-02' }).waitFor();
    await act('POST', '/api/nodes/PC-02/resume');
    await endedRun(run);
  } finally {
    await act('POST', '/api/nodes/PC-02/resume');
  }
});

inEveryLanguage('why: any kind of thing is explained in the language of the page', { role: 'VIEWER', refusals: [404] }, async (scene) => {
  await failedRun({ 'sim-0003': 'adb_offline' });
  const endless = await endlessRun({ devices: ['sim-0004'] });
  const behind = await submitRun({ devices: ['sim-0004'] });
  const { schedule_id: schedule } = await act('POST', '/api/schedules', { cron: '0 6 * * *', run: { workflow_id: 'hello', title: fresh('why') } });
  const { id: job } = await act('POST', '/jobs', { payload: { op: 'sum', values: [1] }, region: 'nowhere' });
  const session = fresh('s');
  await act('POST', '/api/v1/sessions', { sessionId: session, totalFrames: 20, framesPerTask: 20 });
  const row = await eventually('it has its row', async () => (await read(`/api/runs/${endless}/task_devices`)).task_devices[0]);
  const things = [['device', 'sim-0003'], ['run', endless], ['run', behind], ['task_device', row.id], ['node', 'PC-01'], ['worker', '1'], ['job', job], ['session', session], ['schedule', schedule]];
  for (const [kind, id] of things) {
    await scene.open(`#/why/${kind}/${encodeURIComponent(id)}`);
    await scene.page.locator('.sentence').waitFor();
    const { code } = await read(`/api/explain/${kind}/${encodeURIComponent(id)}`);
    await says(scene, code);
    await scene.checkWords();
  }
  await act('POST', `/api/runs/${endless}/cancel`);
  await act('POST', `/api/runs/${behind}/cancel`);
  await act('POST', `/api/v1/sessions/${session}/cancel`);
  await returnDevices();
});

test('why: what does not exist is said to be so', { role: 'VIEWER', path: '#/why/run/no-such-run', refusals: [404, 422] }, async (scene) => {
  await scene.page.locator('main').getByRole('alert').getByText(scene.t('why.none', { detail: '' }).trim()).waitFor();
});

test('why: asked from the bar at the top', { role: 'VIEWER', path: '#/settings' }, async (scene) => {
  const bar = scene.page.getByRole('search');
  await bar.locator('select').selectOption('device');
  await bar.getByRole('textbox').fill('sim-0001');
  await bar.getByRole('textbox').press('Enter');
  await scene.page.locator('.sentence').waitFor();
  assert.ok(scene.page.url().endsWith('#/why/device/sim-0001'));
});

inEveryLanguage('why: N8c, S8, S26b: the newest causes have words in the language of the page', { role: 'VIEWER' }, async (scene) => {
  const now = Date.now();
  const answers = {
    sim_workers_unheard: { kind: 'session', id: 's1', rule: 'S8', data: { workers: 2 } },
    sim_worker_unheard: { kind: 'worker', id: 'W9', rule: 'S8', data: { since: now - 5000 } },
    range_awaiting_another_worker: { kind: 'range', id: 's1.00000000', rule: 'S26b', data: { worker_id: 'W1', attempt: 2, until: now + 60000 } },
    awaiting_pull: { kind: 'node', id: 'PC-01', rule: 'N1', data: { node_id: 'PC-01', heartbeat: 'late', heartbeat_late_since: now - 90000 } },
  };
  for (const [code, answer] of Object.entries(answers)) {
    await scene.page.route('**/api/explain/**', (route) => route.fulfill({ json: { code, sentence: 'in the words of the server', ...answer } }));
    await scene.open(`#/why/${answer.kind}/${answer.id}`);
    await scene.page.locator('.sentence').waitFor();
    await says(scene, code);
    await scene.page.locator('.advice').getByText(scene.t(`advice.${code}`), { exact: true }).waitFor();
    await scene.checkWords();
    await scene.page.unroute('**/api/explain/**');
  }
  const [, after] = scene.t('why.heartbeat_late', { heartbeat_late_since_ago: '…' }).split('…');
  await scene.page.locator('.sentence').getByText(after).waitFor();
  await scene.checkAccess();
  await scene.shot(`why with a late heartbeat ${scene.language}`);
});
