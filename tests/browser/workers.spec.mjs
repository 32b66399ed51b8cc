// Workers of sessions and of the pool, and what can be done with them.

import assert from 'node:assert/strict';
import { base, enrolSecret } from './environment.mjs';
import { eventually, fresh, read } from './server.mjs';
import { inEveryLanguage } from './suite.mjs';
import { audited } from './work.mjs';

/** A simulation worker that has registered, and is heard of no more. */
async function registered() {
  const workerId = fresh('sim');
  const headers = { authorization: `Bearer ${enrolSecret}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ workerId, role: 'simulation', capabilities: { cameras: 1, gpu: 'none', slots: 1 }, currentSession: null });
  const { status } = await fetch(`${base}/api/v1/workers/register`, { method: 'POST', headers, body });
  assert.equal(status, 201);
  return workerId;
}

const state = async (worker) => (await read(`/api/v1/workers/${worker}`)).state;

inEveryLanguage('workers: one of sessions is put into quarantine, approved and removed, each with a reason', { role: 'OPERATOR', path: '#/fleet?tab=sim', when: Boolean(enrolSecret) }, async (scene) => {
  const worker = await registered();
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
