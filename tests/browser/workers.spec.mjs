// Workers of sessions and of the pool, and what can be done with them.

import assert from 'node:assert/strict';
import { enrolSecret } from './environment.mjs';
import { beat, registerWorker } from './frame_worker.mjs';
import { act, eventually, read } from './server.mjs';
import { inEveryLanguage } from './suite.mjs';
import { audited } from './work.mjs';

const state = async (worker) => (await read(`/api/v1/workers/${worker}`)).state;

inEveryLanguage('workers: one of sessions is put into quarantine, approved and removed, each with a reason', { role: 'OPERATOR', path: '#/fleet?tab=sim', when: Boolean(enrolSecret) }, async (scene) => {
  // It has registered, and is heard of no more.
  const { id: worker } = await registerWorker();
  await scene.row(worker).waitFor();
  await scene.button('fleet.quarantine_worker', { worker }).click();
  await scene.dialog.getByText(scene.t('fleet.quarantine_what', { n: 0 })).waitFor();
  await scene.checkAccess();
  await scene.confirm('fleet.quarantine_confirm', `${worker} renders green`);
  assert.equal(await state(worker), 'Quarantined');
  await scene.row(worker).getByText(scene.t('status.Quarantined'), { exact: true }).waitFor();

  await scene.open(`#/fleet/worker/${worker}`);
  await scene.page.locator('.timeline').getByText(`${worker} renders green`).waitFor();
  await scene.checkAccess();
  await scene.button('fleet.approve_worker', { worker }).click();
  await scene.confirm('fleet.approve_confirm', `${worker} has a new card`);
  assert.notEqual(await state(worker), 'Quarantined');

  await scene.open('#/fleet?tab=sim');
  await scene.button('fleet.remove_worker', { worker }).click();
  await scene.confirm('fleet.remove_confirm', `${worker} was sold`);
  await scene.told('fleet.remove_done', { worker });
  await eventually('it is gone', async () => !(await read('/api/v1/workers')).workers.some(({ workerId, state: now }) => workerId === worker && now !== 'Removed'));
  for (const reason of ['renders green', 'has a new card', 'was sold']) assert.equal((await audited(`${worker} ${reason}`)).length, 1, reason);
});

inEveryLanguage('workers: S6: a removed worker that still calls is a zombie, shown and explained', { role: 'OPERATOR', when: Boolean(enrolSecret) }, async (scene) => {
  const worker = await registerWorker();
  await beat(worker);
  await act('DELETE', `/api/v1/workers/${worker.id}`);
  const calls = setInterval(() => { beat(worker).catch(() => {}); }, 500);
  try {
    await eventually('it is a zombie', async () => (await state(worker.id)) === 'zombie');
    await scene.open('#/fleet?tab=sim');
    const row = scene.row(worker.id);
    await row.locator('.badge.bad').getByText(scene.t('status.zombie'), { exact: true }).waitFor();
    await row.getByText(scene.t('fleet.zombie_short'), { exact: true }).waitFor();
    assert.equal(await scene.button('fleet.quarantine_worker', { worker: worker.id }).count(), 0);
    await scene.checkAccess();
    await scene.shot(`workers with a zombie ${scene.language}`);
    await scene.open(`#/fleet/worker/${worker.id}`);
    await scene.page.getByText(scene.t('fleet.zombie_what'), { exact: true }).waitFor();
    await scene.checkAccess();
    await scene.shot(`zombie ${scene.language}`);
    await scene.button('fleet.remove_worker', { worker: worker.id }).click();
    await scene.dialog.getByText(scene.t('fleet.remove_zombie_what')).waitFor();
    await scene.confirm('fleet.remove_confirm', `${worker.id} was unplugged`);
    await scene.told('fleet.remove_done', { worker: worker.id });
  } finally {
    clearInterval(calls);
  }
});

const poolWorker = async (name) => (await read('/api/pool/workers')).workers.find((worker) => worker.name === name);
const press = (scene, act, name) => scene.button(`fleet.pool_${act}_title`, { name }).click();

inEveryLanguage('workers: an owner drains and resumes its own of the pool, and bans nobody', { user: 'olga', path: '#/fleet?tab=pool' }, async (scene) => {
  await scene.row('gpu-1').waitFor();
  assert.equal(await scene.button('fleet.pool_ban_title', { name: 'gpu-1' }).count(), 0);
  await press(scene, 'drain', 'gpu-1');
  await scene.dialog.getByText(scene.t('fleet.pool_drain_what')).waitFor();
  await scene.confirm('fleet.pool_drain_confirm', 'needed for a game');
  assert.equal((await poolWorker('gpu-1')).draining, true);
  await scene.row('gpu-1').getByText(scene.t('status.draining'), { exact: true }).waitFor();
  await press(scene, 'resume', 'gpu-1');
  await scene.confirm('fleet.pool_resume_confirm');
  assert.equal((await poolWorker('gpu-1')).draining, false);
});

inEveryLanguage('workers: one of the pool is banned and let in again', { path: '#/fleet?tab=pool' }, async (scene) => {
  const reason = `lies (${scene.language})`;
  await press(scene, 'ban', 'gpu-2');
  await scene.dialog.getByText(scene.t('fleet.pool_ban_what')).waitFor();
  await scene.checkAccess();
  await scene.confirm('fleet.pool_ban_confirm', reason);
  assert.equal((await poolWorker('gpu-2')).ban_reason, reason);
  await scene.row('gpu-2').getByText(reason).waitFor();
  assert.ok((await audited(reason)).length >= 1);
  await scene.shot(`pool workers ${scene.language}`);
  await scene.open('#/overview');
  const counted = (what, n) => scene.page.locator('.tile.workers').getByText(scene.t('overview.count_of', { n, what: scene.t(`status.${what}`) }), { exact: true }).waitFor();
  await counted('banned', 1);
  await counted('online', 1);
  await scene.open('#/fleet?tab=pool');
  await press(scene, 'unban', 'gpu-2');
  await scene.confirm('fleet.pool_unban_confirm', `it was the network (${scene.language})`);
  assert.equal((await poolWorker('gpu-2')).ban_reason, null);
});
