// The configuration in force is shown as the server has it.

import assert from 'node:assert/strict';
import { read } from './server.mjs';
import { inEveryLanguage } from './suite.mjs';

const namesShown = (scene) => scene.page.locator('tbody tr td:first-child code:first-child').allTextContents();

inEveryLanguage('settings: every value with where it came from; searched; changed ones alone', { role: 'VIEWER', path: '#/settings' }, async (scene) => {
  const { settings } = await read('/api/settings');
  await scene.row('operations.slots').waitFor();
  assert.equal(await scene.page.locator('tbody tr').count(), settings.length);
  await scene.field('settings.search').fill('operations.slots');
  assert.deepEqual((await namesShown(scene)).filter((name) => name === 'operations.slots').length, 1);
  const slots = settings.find(({ name }) => name === 'operations.slots');
  await scene.row('operations.slots').getByText('MUSTER_OPERATIONS__SLOTS').first().waitFor();
  await scene.row('operations.slots').getByText(String(slots.value), { exact: true }).first().waitFor();
  await scene.field('settings.search').fill('');
  await scene.field('settings.only_changed').check();
  const changed = settings.filter(({ from }) => from !== 'default');
  assert.equal(await scene.page.locator('tbody tr').count(), changed.length);
  assert.equal(await scene.page.getByText(scene.t('settings.changed'), { exact: true }).count(), changed.length);
});
