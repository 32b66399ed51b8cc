// Sessions: steered one by one and together, with the map of their frames and what had to be made anew.

import assert from 'node:assert/strict';
import { act, eventually, fresh, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { audited, sessionIs, sessionOf, submitSession } from './work.mjs';

const region = (scene, key) => scene.page.getByRole('region', { name: scene.t(key), exact: true });
const statusShown = (scene, status) => scene.page.locator('.heading .badge').getByText(scene.t(`status.${status}`), { exact: true }).waitFor();

/** Presses a button, sees which session is asked about, gives a reason, and confirms. */
async function steer(scene, name, { session, reason }) {
  const open = scene.page.locator('main').getByRole('button', { name: scene.t(`sessions.${name}`), exact: true });
  await open.click();
  await scene.dialog.getByRole('heading', { name: scene.t(`sessions.${name}_title`, { session }), exact: true }).waitFor();
  await scene.dialog.getByText(scene.t(`sessions.${name}_what`)).waitFor();
  if (reason) await scene.dialog.locator('textarea[name=reason]').fill(reason);
  await scene.dialog.getByRole('button', { name: scene.t(`sessions.${name}_confirm`, { n: 1 }), exact: true }).click();
  await scene.told(`sessions.${name}_done`, { n: 1 });
}

inEveryLanguage('sessions: a new one is made, paused, resumed and cancelled with a reason', { role: 'OPERATOR', path: '#/sessions', refusals: [422] }, async (scene) => {
  const name = fresh('new');
  await scene.button('sessions.new').click();
  await scene.field('sessions.name').fill(name);
  await scene.field('sessions.frames').fill('100000');
  await scene.field('sessions.per_task').fill('50');
  await scene.field('sessions.scenario').fill('{"map": "plaza"}');
  await scene.checkAccess();
  await scene.confirm('sessions.start');
  await scene.page.getByRole('heading', { level: 1, name }).waitFor();
  assert.equal((await sessionOf(name)).totalFrames, 100000);
  await steer(scene, 'pause', { session: name });
  await sessionIs(name, 'paused');
  await statusShown(scene, 'paused');
  await steer(scene, 'resume', { session: name });
  await sessionIs(name, 'running');
  await statusShown(scene, 'running');
  await steer(scene, 'cancel', { session: name, reason: `${name} is not needed` });
  await sessionIs(name, 'cancelled');
  await statusShown(scene, 'cancelled');
  assert.equal((await audited(`${name} is not needed`)).length, 1);
});

inEveryLanguage('sessions: searched, and several paused and cancelled at once', { role: 'OPERATOR', path: '#/sessions' }, async (scene) => {
  const names = [await submitSession({ totalFrames: 100000 }), await submitSession({ totalFrames: 100000 })];
  await scene.row(names[1]).waitFor();
  for (const id of names) await scene.page.getByRole('checkbox', { name: scene.t('shell.choose', { id }) }).check();
  for (const [step, status, reason] of [['pause', 'paused'], ['cancel', 'cancelled', 'two too many']]) {
    await scene.page.locator('.bulk').getByRole('button', { name: scene.t(`sessions.${step}`), exact: true }).click();
    if (reason) await scene.dialog.locator('textarea[name=reason]').fill(reason);
    await scene.dialog.getByRole('button', { name: scene.t(`sessions.${step}_confirm`, { n: 2 }), exact: true }).click();
    await scene.told(`sessions.${step}_done`, { n: 2 });
    for (const name of names) await sessionIs(name, status);
    await scene.row(names[0]).getByText(scene.t(`status.${status}`), { exact: true }).waitFor();
  }
  await scene.field('sessions.search').fill(names[1]);
  await eventually('one is found', async () => (await scene.page.locator('tbody tr').count()) === 1);
  await scene.page.locator('select[name=status]').selectOption('completed');
  await scene.page.getByText(scene.t('sessions.none')).waitFor();
});

test('sessions: the map, the ranges, and what was made anew; files set apart are looked at', { role: 'OPERATOR' }, async (scene) => {
  const name = await submitSession({ totalFrames: 600, framesPerTask: 300 });
  const held = () => read('/api/v1/workers/W2').then(({ tasks }) => tasks.some((task) => task.startsWith(`${name}.`)));
  await eventually('W2 has a range', held);
  await eventually('it has made frames', async () => (await sessionOf(name)).coverage.some(({ workerId, status }) => workerId === 'W2' && status === 'running'));
  await act('POST', '/api/v1/workers/W2/quarantine', { reason: 'for the test' });
  await sessionIs(name, 'completed');
  const session = await sessionOf(name);
  assert.equal(session.replays.length, 1);
  await act('POST', '/api/v1/workers/W2/approve', { reason: 'for the test' });

  await scene.open(`#/sessions/${name}`);
  const map = scene.page.getByRole('slider', { name: scene.t('sessions.map_label') });
  await map.focus();
  await scene.page.keyboard.press('End');
  const stretch = session.coverage.at(-1);
  assert.ok((await map.getAttribute('aria-valuetext')).includes(scene.t('sessions.by_worker', { worker: stretch.workerId })));
  const [from, to] = session.replays[0].frameRange;
  await scene.page.keyboard.press('Home');
  for (let tries = 0; Number(await map.getAttribute('aria-valuenow')) < from && tries < 600; tries++) await scene.page.keyboard.press('ArrowRight');
  assert.ok((await map.getAttribute('aria-valuetext')).includes(scene.t('sessions.replayed')), await map.getAttribute('aria-valuetext'));
  const painted = await map.evaluate((canvas) => new Set(new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer)).size);
  assert.ok(painted > 2, 'the map is empty');
  await region(scene, 'sessions.replays').getByText(scene.t('sessions.range_of', { from, to: to - 1 }), { exact: true }).waitFor();
  const { tasks } = await read(`/api/v1/sessions/${name}/tasks`);
  const lost = scene.page.locator('.gantt-bar').filter({ hasText: scene.t('status.given_back') });
  await eventually('every range is a bar, and so is the attempt that W2 did not end', async () => (await scene.page.locator('.gantt-bar').count()) === tasks.length + 1);
  assert.match(await lost.locator('title').textContent(), /W2/);
  assert.ok((await lost.locator('rect').first().boundingBox()).width > 2, 'it lasted');
  await scene.page.getByRole('list', { name: scene.t('shell.legend') }).getByText(scene.t('status.given_back')).waitFor();
  for (const toggle of await scene.button('shell.as_table').all()) await toggle.click();
  await scene.checkAccess();
  await scene.shot('session with a replay');

  const entry = (await read('/api/v1/quarantine')).entries.find(({ sessionId }) => sessionId === name);
  await region(scene, 'sessions.quarantine').getByRole('button', { name: scene.t('sessions.confirm'), exact: true }).first().click();
  await scene.field('sessions.note').fill('nothing to rescue');
  await scene.confirm('sessions.confirm');
  await eventually('it is confirmed', async () => (await read('/api/v1/quarantine')).entries.find(({ id }) => id === entry.id).confirmed);
  await scene.page.getByText(scene.t('sessions.confirmed', { note: 'nothing to rescue' })).waitFor();
});

inEveryLanguage('sessions: everything is paused, said so, and goes on', { role: 'OPERATOR', path: '#/sessions' }, async (scene) => {
  const reason = `the disk is full (${scene.language})`;
  await scene.button('sessions.pause_all').click();
  await scene.dialog.getByText(scene.t('sessions.pause_all_what')).waitFor();
  await scene.confirm('sessions.pause_all_confirm', reason);
  await scene.page.getByText(scene.t('sessions.all_paused')).waitFor();
  assert.equal((await audited(reason)).length, 1);
  const name = await submitSession();
  assert.equal((await sessionOf(name)).completedFrames, 0);
  await scene.checkAccess();
  await scene.button('sessions.resume_all').click();
  await scene.confirm('sessions.resume_all_confirm');
  await scene.page.getByText(scene.t('sessions.all_paused')).waitFor({ state: 'hidden' });
  await sessionIs(name, 'completed');
});
