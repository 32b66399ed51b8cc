// Roles decide: who may only look is offered nothing to do, and everybody sees the pages that are theirs.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { hasCourt } from './environment.mjs';
import { act, ask, fresh, read, tokenOf } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { endlessRun, failedRun, returnDevices, submitSession } from './work.mjs';

const READING = ['overview', 'fleet', 'runs', 'sessions', 'why', 'court', 'schedules', 'settings'];
const ALL = ['overview', 'fleet', 'runs', 'sessions', 'jobs', 'why', 'court', 'schedules', 'audit', 'users', 'settings'];

const pagesOf = (scene) => scene.page.getByRole('navigation', { name: scene.t('nav.label') }).getByRole('link').evaluateAll((links) => links.map((link) => link.hash.slice(2)));

for (const [user, expected] of [['vera', READING], ['otto', READING], ['adam', ALL], ['carol', ['jobs', 'users']], ['olga', READING], ['oscar', ['fleet']]]) {
  test(`roles: ${user} sees the pages that are theirs`, { user, path: '' }, async (scene) => {
    assert.deepEqual(await pagesOf(scene), expected);
  });
}

/** What changes something, by the words on its button. */
const ACTS = [
  'fleet.drain', 'fleet.resume', 'fleet.cap', 'fleet.secret', 'fleet.return', 'fleet.labels_edit', 'fleet.approve', 'fleet.quarantine', 'fleet.remove',
  'fleet.pool_drain', 'fleet.pool_resume', 'fleet.pool_ban', 'fleet.pool_unban', 'runs.new', 'runs.cancel', 'runs.retry', 'runs.retry_failed',
  'sessions.new', 'sessions.pause', 'sessions.resume', 'sessions.cancel', 'sessions.pause_all', 'sessions.confirm', 'schedules.add', 'schedules.delete', 'court.reply',
];

inEveryLanguage('roles: who may only look finds no button that acts', { user: 'vera' }, async (scene) => {
  const failed = await failedRun({ 'sim-0013': 'adb_offline' });
  const endless = await endlessRun({ devices: ['sim-0014'] });
  const session = await submitSession({ totalFrames: 100000 });
  const acts = new Set(ACTS.map((key) => scene.t(key)));
  const paths = ['#/overview', '#/fleet', '#/fleet?tab=sim', '#/fleet?tab=pool', '#/fleet/device/sim-0013', '#/fleet/node/PC-01', '#/fleet/worker/W1', '#/runs', `#/runs/${endless}`,
    `#/runs/${failed.run_id}`, '#/sessions', `#/sessions/${session}`, '#/why', '#/schedules', '#/settings', ...(hasCourt ? ['#/court'] : [])];
  for (const path of paths) {
    await scene.open(path);
    await scene.settled();
    const seen = await scene.page.locator('main button:visible').allTextContents();
    // On the overview the stream of events is held, which changes nothing.
    const wrong = seen.filter((text) => acts.has(text.trim()) && !(path === '#/overview' && text.trim() === scene.t('overview.pause')));
    assert.deepEqual(wrong, [], path);
    assert.equal(await scene.page.locator('main td.pick').count(), 0, `${path}: nothing is chosen where nothing can be done`);
  }
  await act('POST', `/api/runs/${endless}/cancel`);
  await act('POST', `/api/v1/sessions/${session}/cancel`);
  await returnDevices();
});

test('roles: an operator steers, but gives out no secret and bans nobody', { user: 'otto', path: '#/fleet/node/PC-01' }, async (scene) => {
  await scene.button('fleet.drain').waitFor();
  assert.equal(await scene.button('fleet.secret').count(), 0);
  await scene.open('#/fleet?tab=pool');
  await scene.row('gpu-1').waitFor();
  for (const act of ['ban', 'drain']) assert.equal(await scene.button(`fleet.pool_${act}_title`, { name: 'gpu-1' }).count(), 0, act);
});

test('roles: a page that is not theirs leads to one that is', { user: 'carol', path: '#/audit' }, async (scene) => {
  await scene.heading('nav.jobs').waitFor();
});

/** A worker of the pool that is registered, and does nothing. */
async function workerOf(owner) {
  const name = fresh('mine');
  const { x: key } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' });
  const { status, body } = await ask('POST', '/workers/register', { name, public_key: Buffer.from(key, 'base64url').toString('base64') }, await tokenOf(owner));
  assert.equal(status, 201, JSON.stringify(body));
  return name;
}

inEveryLanguage('roles: an owner steers their own workers of the pool, and sees nothing else of the fleet', { user: 'oscar', path: '' }, async (scene) => {
  const name = await workerOf('oscar');
  await scene.open('#/fleet/node/PC-01');
  await scene.row(name).waitFor();
  assert.deepEqual(await scene.page.locator('.tabs a').allTextContents(), [scene.t('fleet.tab_pool')]);
  const all = (await read('/api/pool/workers?limit=1000')).workers;
  const owner = all.find((worker) => worker.name === name).owner_user_id;
  assert.equal(await scene.page.locator('tbody tr').count(), all.filter((worker) => worker.owner_user_id === owner).length);
  await scene.checkAccess();
  await scene.button('fleet.pool_drain_title', { name }).click();
  await scene.confirm('fleet.pool_drain_confirm', 'needed for a game');
  await scene.row(name).getByText(scene.t('status.draining'), { exact: true }).waitFor();
  await scene.button('fleet.pool_resume_title', { name }).click();
  await scene.confirm('fleet.pool_resume_confirm');
  await scene.button('fleet.pool_drain_title', { name }).waitFor();
});
