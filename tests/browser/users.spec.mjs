// Users are added and changed; keys are made, work, and are taken back.

import assert from 'node:assert/strict';
import { act, ask, fresh, read } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';

const find = async (name) => (await read('/users?limit=1000')).users.find(({ username }) => username === name);
const login = async (username, password) => (await ask('POST', '/auth/login', { username, password })).status;
const press = (scene, key, name) => scene.row(name).getByRole('button', { name: scene.t('users.act_on', { act: scene.t(key), name }), exact: true }).click();

inEveryLanguage('users: added, changed, put out of service and back', { path: '#/users', refusals: [422] }, async (scene) => {
  const name = fresh('user');
  await scene.button('users.add').click();
  await scene.field('users.name').fill('no such name');
  await scene.dialog.locator('[name=password]').fill('short');
  await scene.dialog.getByLabel('VIEWER').check();
  await scene.dialog.getByRole('button', { name: scene.t('users.add'), exact: true }).click();
  await scene.dialog.locator('.blame').nth(1).waitFor();
  await scene.checkAccess();
  await scene.field('users.name').fill(name);
  await scene.dialog.locator('[name=password]').fill('a-good-password');
  await scene.confirm('users.add');
  assert.deepEqual((await find(name)).roles, ['VIEWER']);
  assert.equal(await login(name, 'a-good-password'), 200);

  await press(scene, 'users.change_roles', name);
  await scene.dialog.getByLabel('OPERATOR').check();
  await scene.confirm('users.change_roles', 'on duty this week');
  assert.deepEqual((await find(name)).roles.toSorted(), ['OPERATOR', 'VIEWER']);
  await scene.row(name).getByText('OPERATOR').waitFor();

  await press(scene, 'users.change_password', name);
  await scene.dialog.locator('[name=password]').fill('another-good-password');
  await scene.confirm('users.change_password');
  assert.deepEqual([await login(name, 'a-good-password'), await login(name, 'another-good-password')], [401, 200]);

  await press(scene, 'users.deactivate', name);
  await scene.dialog.getByText(scene.t('users.deactivate_what')).waitFor();
  await scene.confirm('users.deactivate_confirm', 'left the team');
  assert.equal((await find(name)).active, false);
  await scene.row(name).getByText(scene.t('status.inactive')).waitFor();
  await press(scene, 'users.activate', name);
  await scene.confirm('users.activate_confirm', 'came back');
  assert.equal((await find(name)).active, true);
});

test('users: the list is searched', { path: '#/users' }, async (scene) => {
  const [here, there] = [fresh('here'), fresh('there')];
  for (const username of [here, there]) await act('POST', '/users', { username, password: 'a-good-password', roles: [] });
  await scene.page.reload();
  await scene.row(there).waitFor();
  await scene.field('shell.search').fill(here);
  await scene.row(there).waitFor({ state: 'detached' });
  await scene.row(here).waitFor();
});

inEveryLanguage('keys: shown once, work, and are taken back', { path: '#/users' }, async (scene) => {
  const name = fresh('key');
  await scene.button('users.key_add').click();
  await scene.field('users.key_name').fill(name);
  await scene.confirm('users.key_add');
  const key = await scene.field('users.key_itself').inputValue();
  assert.equal((await ask('GET', '/auth/me', undefined, key)).status, 200);
  await scene.checkAccess();
  await scene.confirm('shell.secret_kept');
  assert.ok(!(await scene.page.content()).includes(key), 'the key is still on the page');
  await press(scene, 'users.key_revoke', name);
  await scene.confirm('users.key_revoke_confirm', 'only a test');
  await scene.told('users.key_revoked');
  assert.equal((await ask('GET', '/auth/me', undefined, key)).status, 401);
  await scene.row(name).getByText(scene.t('status.retired')).waitFor();
});
