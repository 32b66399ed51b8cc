// Schedules are made, shown and deleted.

import assert from 'node:assert/strict';
import { act, eventually, fresh, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';

const find = async (title) => (await read('/api/schedules?limit=1000')).schedules.find(({ run }) => run.title === title);

inEveryLanguage('schedules: what the server finds wrong stands at the field; then it is made, and deleted with a reason', { role: 'OPERATOR', path: '#/schedules', refusals: [422] }, async (scene) => {
  const title = fresh('nightly');
  await scene.button('schedules.add').click();
  await scene.field('schedules.cron').fill('61 * * * *');
  await scene.field('schedules.zone').fill('Asia/Seoul');
  await scene.field('schedules.workflow').fill('hello');
  await scene.field('schedules.title').fill(title);
  await scene.field('schedules.params').fill('{"greeting": "hi"}');
  await scene.dialog.locator('[name=scope]').selectOption('pcs');
  await scene.dialog.locator('[name="run.scope"]').fill('PC-98, PC-99');
  await scene.dialog.getByRole('button', { name: scene.t('schedules.add'), exact: true }).click();
  await scene.dialog.getByRole('alert').getByText('"61"').waitFor();
  assert.equal(await scene.field('schedules.cron').evaluate((input) => document.getElementById(input.getAttribute('aria-errormessage'))?.textContent.includes('"61"')), true);
  await scene.checkAccess();
  await scene.shot(`schedules form ${scene.language}`);
  await scene.field('schedules.cron').fill('30 18 * * MON-FRI');
  await scene.confirm('schedules.add');
  await scene.told('schedules.added');

  const made = await find(title);
  assert.deepEqual([made.cron, made.timezone, made.missed, made.run.scope, made.run.params], ['30 18 * * MON-FRI', 'Asia/Seoul', 'skip', { pcs: ['PC-98', 'PC-99'] }, { greeting: 'hi' }]);
  const row = scene.row(title);
  await row.getByText(scene.t('schedules.cron_workdays', { time: '18:30' })).waitFor();
  assert.match(await row.getByRole('link', { name: scene.t('why.ask') }).last().getAttribute('href'), new RegExp(made.schedule_id));

  await row.getByRole('button', { name: scene.t('schedules.delete') }).click();
  await scene.dialog.getByText(scene.t('schedules.delete_what', { name: title, cron: made.cron, zone: made.timezone })).waitFor();
  await scene.confirm('schedules.delete_confirm', 'no longer needed');
  await scene.told('schedules.deleted');
  assert.equal(await find(title), undefined);
  await row.waitFor({ state: 'detached' });
});

test('schedules: what others do appears by itself', { role: 'VIEWER', path: '#/schedules' }, async (scene) => {
  const title = fresh('appears');
  const { schedule_id: id } = await act('POST', '/api/schedules', { cron: '0 6 1 * *', run: { workflow_id: 'hello', title } });
  await scene.row(title).getByText(scene.t('schedules.cron_monthly', { day: 1, time: '06:00' })).waitFor();
  await act('DELETE', `/api/schedules/${id}`);
  await scene.row(title).waitFor({ state: 'detached' });
});

test('schedules: a dialog is left by the keyboard, and nothing is done', { role: 'OPERATOR', path: '#/schedules' }, async (scene) => {
  const before = (await read('/api/schedules?limit=1000')).schedules.length;
  await scene.button('schedules.add').focus();
  await scene.page.keyboard.press('Enter');
  await scene.dialog.waitFor();
  await scene.page.keyboard.press('Escape');
  await scene.dialog.waitFor({ state: 'detached' });
  await eventually('the focus is back', () => scene.button('schedules.add').evaluate((button) => button === document.activeElement));
  assert.equal((await read('/api/schedules?limit=1000')).schedules.length, before);
});
