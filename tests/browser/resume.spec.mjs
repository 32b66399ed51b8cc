// The server is killed while somebody looks: the page says so, goes on, and has missed nothing.

import assert from 'node:assert/strict';
import { hasStage } from './environment.mjs';
import { act, eventually, read } from './server.mjs';
import { stage } from './stage.mjs';
import { inEveryLanguage } from './suite.mjs';
import { endedRun, endlessRun, failedRun, returnDevices, submitRun } from './work.mjs';

const standing = (scene, name) => scene.page.getByText(scene.t(`shell.standing_${name}`), { exact: true }).waitFor();

/** What stands at every place of every node, as the keyboard finds it. */
const wall = (scene) => scene.page.getByRole('grid').evaluateAll((grids) => grids.flatMap((grid) => {
  const found = [];
  grid.focus();
  const press = (key) => grid.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
  for (let line = 0; line < 10; line++) {
    press('Home');
    for (let column = 0; column < 10; column++, press('ArrowRight')) found.push(grid.querySelector('[role=gridcell]').textContent);
    press('ArrowDown');
  }
  for (let line = 0; line < 10; line++) press('ArrowUp');
  return found;
}));

/** The same as the server has it. */
async function fleet(scene) {
  const { nodes } = await read('/api/fleet');
  return nodes.flatMap(({ devices }) => Array.from({ length: 100 }, (_, place) => {
    const device = devices[place];
    return device ? scene.t('fleet.place', { device: device[0], state: scene.t(`status.${device[1]}`) }) : scene.t('fleet.place_empty', { n: place + 1 });
  }));
}

async function breakOff(scene, meanwhile) {
  await stage('kill server');
  await standing(scene, 'reconnecting');
  await stage('start server');
  await eventually('the server answers', async () => (await read('/api/overview').catch(() => null)) !== null);
  await meanwhile();
  await standing(scene, 'live');
}

inEveryLanguage('resume: after a kill the overview is live again, tells the takeover, and agrees with the server', { role: 'VIEWER', path: '#/overview', mayBreak: true, refusals: [502, 503], when: hasStage }, async (scene) => {
  await standing(scene, 'live');
  const before = (await read('/api/overview')).leader.epoch;
  let endless;
  await breakOff(scene, async () => { endless = await endlessRun({ devices: ['sim-0005', 'sim-0006'] }); });
  const { leader } = await read('/api/overview');
  assert.ok(leader.epoch > before);
  await scene.page.getByText(scene.t('overview.takeover', { address: leader.address, epoch: leader.epoch, before })).waitFor();
  const slots = scene.page.locator('.tile.slots .figure');
  await eventually('the slots agree', async () => {
    const { slots: { used, target } } = await read('/api/overview');
    return used === 2 && (await slots.textContent()) === scene.t('overview.of', { part: used, whole: target });
  }, 40000);
  await scene.shot(`overview after a takeover ${scene.language}`);
  await act('POST', `/api/runs/${endless}/cancel`);
});

inEveryLanguage('resume: after a kill in the middle of work the wall is the server’s', { role: 'VIEWER', path: '#/fleet', mayBreak: true, refusals: [502, 503], when: hasStage }, async (scene) => {
  await standing(scene, 'live');
  await eventually('the wall is the server’s', async () => isSame(await wall(scene), await fleet(scene)));
  const under = await submitRun({ pcs: ['PC-01'], simulate: { step_ms: 100 } });
  await breakOff(scene, () => failedRun({ 'sim-0104': 'adb_offline' }));
  await endedRun(under);
  await eventually('the wall is the server’s again', async () => {
    const [shown, real] = [await wall(scene), await fleet(scene)];
    return real.some((text) => text.includes('sim-0104') && text.includes(scene.t('status.error'))) && isSame(shown, real);
  }, 40000);
  await returnDevices();
});

const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);
