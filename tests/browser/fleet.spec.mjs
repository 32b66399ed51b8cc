// The wall of devices, one device, one node, and what can be done with them.

import assert from 'node:assert/strict';
import { ask, eventually, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';
import { audited, endedRun, endlessRun, failedRun, returnDevices, submitRun } from './work.mjs';

const PLACES = 100;
const cardOf = (scene, node) => scene.page.getByRole('article').filter({ has: scene.page.getByRole('link', { name: node, exact: true }) });
const gridOf = (scene, node) => cardOf(scene, node).getByRole('grid');
const device = (id) => read(`/api/devices/${id}`);
const node = (id) => read(`/api/pcs/${id}`);

/** The colours of all places of a node as the canvas has them: of the middle of each, and of a spot beside it. */
const coloursOf = (scene, name) => gridOf(scene, name).locator('canvas').evaluate((canvas, count) => {
  const size = canvas.width / 10;
  const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const at = (x, y) => [...copy.getImageData(Math.round(x), Math.round(y), 1, 1).data].join();
  return Array.from({ length: count }, (_, place) => {
    const [x, y] = [(place % 10) * size, Math.floor(place / 10) * size];
    return `${at(x + size / 2, y + size / 2)} ${at(x + size * 0.2, y + size / 2)}`;
  });
}, PLACES);

test('fleet: a hundred places of each node are drawn, in the colour of their state', { path: '#/fleet' }, async (scene) => {
  await failedRun({ 'sim-0103': 'adb_offline' });
  const running = await endlessRun({ devices: ['sim-0105'] });
  const states = async () => (await read('/api/fleet')).nodes.find(({ node_id: id }) => id === 'PC-02').devices.map(([, state]) => state);
  await eventually('one is running', async () => (await states())[4] === 'running');
  const expected = [...(await states()), ...new Array(PLACES - 7).fill('empty')];
  assert.deepEqual(expected.slice(0, 7), ['idle', 'idle', 'error', 'idle', 'running', 'idle', 'idle']);
  await eventually('the wall shows it', async () => {
    const colours = await coloursOf(scene, 'PC-02');
    const byState = new Map(expected.map((state, place) => [state, colours[place]]));
    return new Set(byState.values()).size === 4 && expected.every((state, place) => colours[place] === byState.get(state));
  });
  // Figures are drawn less often than places.
  const figures = async () => (await cardOf(scene, 'PC-02').locator('.state-counts b').allTextContents()).join();
  await eventually('the figures say it', async () => (await figures()) === '1,5,1,0');
  await scene.shot('fleet with a device out of service');
  await ask('POST', `/api/runs/${running}/cancel`);
  await returnDevices();
  await eventually('all are idle again', async () => new Set((await coloursOf(scene, 'PC-02')).slice(0, 7)).size === 1);
});

inEveryLanguage('fleet: the keyboard moves over the wall, says what stands there, and opens it', { role: 'VIEWER', path: '#/fleet' }, async (scene) => {
  const grid = gridOf(scene, 'PC-02');
  await grid.focus();
  const says = async (text) => assert.equal(await grid.getByRole('gridcell').textContent(), text);
  await says(scene.t('fleet.place', { device: 'sim-0101', state: scene.t('status.idle') }));
  for (const key of ['ArrowRight', 'ArrowRight', 'ArrowDown']) await scene.page.keyboard.press(key);
  await says(scene.t('fleet.place_empty', { n: 13 }));
  await scene.page.keyboard.press('ArrowUp');
  await says(scene.t('fleet.place', { device: 'sim-0103', state: scene.t('status.idle') }));
  await scene.page.keyboard.press('Enter');
  await scene.heading('fleet.device_title', { id: 'sim-0103' }).waitFor();
});

test('fleet: a click opens the device at that place', { role: 'VIEWER', path: '#/fleet' }, async (scene) => {
  const { width } = await gridOf(scene, 'PC-02').locator('canvas').boundingBox();
  await gridOf(scene, 'PC-02').click({ position: { x: width * 0.35, y: width * 0.05 } });
  await scene.heading('fleet.device_title', { id: 'sim-0104' }).waitFor();
});

inEveryLanguage('fleet: devices are found by id, state and node, and the address keeps what was looked for', { role: 'VIEWER', path: '#/fleet' }, async (scene) => {
  const found = scene.page.getByRole('region', { name: scene.t('fleet.found_title') });
  await scene.field('fleet.search').fill('sim-010');
  await found.getByText(scene.t('fleet.found', { n: 7 }), { exact: true }).waitFor();
  assert.equal(await cardOf(scene, 'PC-01').isVisible(), false);
  await failedRun({ 'sim-0002': 'adb_offline' });
  await scene.field('fleet.search').fill('');
  await scene.field('fleet.state').selectOption('error');
  await found.getByText(scene.t('fleet.found', { n: 1 }), { exact: true }).waitFor();
  await scene.field('fleet.node').selectOption('PC-01');
  await scene.page.reload();
  await found.getByText(scene.t('fleet.found', { n: 1 }), { exact: true }).waitFor();
  await scene.checkAccess();
  await found.getByRole('link', { name: 'sim-0002' }).click();
  await scene.heading('fleet.device_title', { id: 'sim-0002' }).waitFor();
  await returnDevices();
});

inEveryLanguage('fleet: a device shows its last picture, its work and its error, and is returned to service with a note', { role: 'OPERATOR' }, async (scene) => {
  const note = `a new cable (${scene.language})`;
  await endedRun(await submitRun({ devices: ['kiosk-01'] }));
  await failedRun({ 'sim-0007': 'adb_offline' });
  await scene.open('#/fleet/device/kiosk-01');
  const picture = scene.page.getByRole('img', { name: scene.t('fleet.screenshot_alt') });
  await picture.waitFor();
  await eventually('the picture is loaded', () => picture.evaluate((image) => image.complete && image.naturalWidth === 216));
  await scene.checkAccess();
  await scene.shot(`device with picture ${scene.language}`);

  await scene.open('#/fleet/device/sim-0007');
  await scene.page.getByText(scene.t('fleet.last_error'), { exact: true }).waitFor();
  assert.ok((await scene.page.locator('.facts .error').textContent()).includes('LOGIN_FLOW'));
  assert.equal((await device('sim-0007')).status, 'ERROR');
  await scene.button('fleet.return').click();
  await scene.dialog.getByText(scene.t('fleet.return_what')).waitFor();
  await scene.field('fleet.return_note').fill(note);
  await scene.confirm('fleet.return_confirm');
  await scene.told('fleet.return_done', { device: 'sim-0007' });
  const returned = await device('sim-0007');
  assert.deepEqual([returned.status, returned.note], ['ONLINE', note]);
  await scene.button('fleet.return').waitFor({ state: 'detached' });
});

test('fleet: labels of a device are changed', { role: 'OPERATOR', path: '#/fleet/device/sim-0009' }, async (scene) => {
  await scene.button('fleet.labels_edit').click();
  await scene.field('fleet.labels_field').fill('rack=3\nno sign here');
  await scene.dialog.getByRole('button', { name: scene.t('fleet.labels_save'), exact: true }).click();
  await scene.dialog.getByText(scene.t('fleet.labels_wrong', { line: 'no sign here' })).waitFor();
  await scene.field('fleet.labels_field').fill('rack=3\nowner=lab one');
  await scene.confirm('fleet.labels_save', 'moved');
  assert.deepEqual((await device('sim-0009')).labels, { rack: '3', owner: 'lab one' });
  await scene.page.getByText('owner=lab one').waitFor();
});

inEveryLanguage('fleet: a node is drained with a reason, and resumed', { role: 'OPERATOR', path: '#/fleet' }, async (scene) => {
  const reason = `new disk (${scene.language})`;
  await scene.button('fleet.drain_node', { node: 'PC-02' }).click();
  await scene.dialog.getByText(scene.t('fleet.drain_what', { node: 'PC-02', n: 0 })).waitFor();
  await scene.checkAccess();
  await scene.confirm('fleet.drain_confirm', reason);
  await scene.told('fleet.drain_done', { node: 'PC-02' });
  assert.equal((await node('PC-02')).draining, true);
  assert.equal((await audited(reason)).length, 1);
  await cardOf(scene, 'PC-02').getByText(scene.t('status.draining'), { exact: true }).waitFor();
  await scene.open('#/fleet/node/PC-02');
  await scene.page.getByText(scene.t('fleet.life_draining'), { exact: true }).first().waitFor();
  await scene.button('fleet.resume').click();
  await scene.confirm('fleet.resume_confirm');
  await scene.told('fleet.resume_done', { node: 'PC-02' });
  assert.equal((await node('PC-02')).draining, false);
});

inEveryLanguage('fleet: the slots of a node are set, and given back to the general number', { role: 'OPERATOR', path: '#/fleet/node/PC-01' }, async (scene) => {
  const usual = (await node('PC-01')).max_devices;
  for (const [typed, expected] of [['3', 3], ['', usual]]) {
    await scene.button('fleet.cap').click();
    await scene.field('fleet.cap_field').fill(typed);
    await scene.confirm('fleet.cap');
    assert.equal((await node('PC-01')).max_devices, expected);
    await scene.page.getByText(scene.t('overview.of', { part: 0, whole: expected }), { exact: true }).waitFor();
  }
});

inEveryLanguage('fleet: a node is given a secret of its own, which is shown once and works', { path: '#/fleet/node/PC-02' }, async (scene) => {
  const reason = `somebody left (${scene.language})`;
  await scene.button('fleet.secret').click();
  await scene.confirm('fleet.secret_confirm', reason);
  const secret = await scene.field('fleet.secret_title', { node: 'PC-02' }).inputValue();
  await scene.checkAccess();
  await scene.button('shell.secret_kept').click();
  await scene.dialog.waitFor({ state: 'detached' });
  assert.ok(!(await scene.page.content()).includes(secret), 'the secret is still on the page');
  assert.equal((await audited(reason)).length, 1);
  const pull = (as, token) => ask('GET', `/api/nodes/pull?node_id=${as}&wait_ms=0`, undefined, token);
  assert.notEqual((await pull('PC-02', secret)).status, 401);
  assert.ok([401, 403].includes((await pull('PC-01', secret)).status), 'it is the secret of another node, too');
});

inEveryLanguage('fleet: N8c: a node whose heartbeat is late has a badge, on the wall and on its page', { role: 'VIEWER' }, async (scene) => {
  await scene.page.route(/\/api\/pcs/, async (route) => {
    const response = await route.fetch();
    const answer = await response.json();
    const late = (pc) => (pc.pc_id === 'PC-02' ? { ...pc, heartbeat: 'late' } : pc);
    await route.fulfill({ response, json: answer.pcs ? { ...answer, pcs: answer.pcs.map(late) } : late(answer) });
  });
  await scene.open('#/fleet');
  const badge = (place) => place.locator('.badge.warn').getByText(scene.t('status.late'), { exact: true });
  await badge(cardOf(scene, 'PC-02')).waitFor();
  assert.equal(await badge(cardOf(scene, 'PC-01')).count(), 0);
  await scene.checkAccess();
  await scene.checkWidth();
  await scene.shot(`fleet with a late heartbeat ${scene.language}`);
  await scene.open('#/fleet/node/PC-02');
  await badge(scene.page.locator('.facts')).waitFor();
  assert.equal(await badge(scene.page.locator('.facts')).getAttribute('title'), scene.t('fleet.late_what'));
  await scene.checkAccess();
  await scene.shot(`node with a late heartbeat ${scene.language}`);
});
