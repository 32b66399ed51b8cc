// Who gets in, and what they see then.

import assert from 'node:assert/strict';
import { adminToken } from './environment.mjs';
import { act, fresh } from './server.mjs';
import { inEveryLanguage, test } from './suite.mjs';

const PASSWORD = 'a-good-password';

async function newUser(...roles) {
  const username = fresh('user');
  await act('POST', '/users', { username, password: PASSWORD, roles });
  return username;
}

async function enter(scene, username, password) {
  await scene.field('login.username').fill(username);
  await scene.field('login.password').fill(password);
  await scene.page.getByRole('form', { name: scene.t('login.by_name') }).getByRole('button').click();
}

inEveryLanguage('login: a wrong password is refused, the right one opens the pages', { role: null, refusals: [401] }, async (scene) => {
  const username = await newUser('VIEWER');
  await scene.open('');
  assert.equal(await scene.page.locator('html').getAttribute('lang'), scene.language);
  await scene.checkAccess();
  await scene.shot(`login ${scene.language}`);
  await enter(scene, username, 'not-the-password');
  await scene.page.getByRole('alert').getByText(scene.t('login.refused')).waitFor();
  await enter(scene, username, PASSWORD);
  await scene.heading('nav.overview').waitFor();
  await scene.page.getByText(scene.t('shell.standing_live'), { exact: true }).waitFor();
  await scene.button('shell.logout').click();
  await scene.field('login.username').waitFor();
});

test('login: with a token', { role: null, path: '' }, async (scene) => {
  await scene.page.getByText(scene.t('login.by_token')).click();
  await scene.field('login.token').fill(adminToken);
  await scene.page.getByRole('form', { name: scene.t('login.by_token') }).getByRole('button').click();
  await scene.heading('nav.overview').waitFor();
  await scene.page.reload();
  await scene.heading('nav.overview').waitFor();
});

test('login: another language and other colours are kept', { path: '#/settings' }, async (scene) => {
  await scene.field('shell.language').selectOption('ko');
  scene.language = 'ko';
  await scene.heading('nav.settings').waitFor();
  await scene.field('shell.theme').selectOption('dark');
  await scene.page.reload();
  await scene.heading('nav.settings').waitFor();
  assert.equal(await scene.page.locator('html').getAttribute('data-theme'), 'dark');
});

const pagesOf = (scene) => scene.page.getByRole('navigation').getByRole('link').evaluateAll((links) => links.map((link) => link.hash.slice(2)));

test('roles: a viewer sees pages for reading, and no button that acts', { role: 'VIEWER', path: '#/schedules' }, async (scene) => {
  assert.deepEqual(await pagesOf(scene), ['overview', 'fleet', 'runs', 'sessions', 'why', 'court', 'schedules', 'settings']);
  assert.equal(await scene.button('schedules.add').count(), 0);
});

test('roles: a client sees jobs and keys', { role: 'CLIENT', path: '#/users' }, async (scene) => {
  assert.deepEqual(await pagesOf(scene), ['jobs', 'users']);
  assert.equal(await scene.button('users.add').count(), 0);
  await scene.heading('users.keys').waitFor();
});

test('login: the keyboard skips the navigation, before the page is there and after', {}, async (scene) => {
  const focused = () => scene.page.evaluate(() => document.activeElement.id);
  const skip = async () => {
    await scene.page.getByRole('link', { name: scene.t('shell.skip') }).focus();
    await scene.page.keyboard.press('Enter');
    assert.equal(await focused(), 'main');
  };
  let release;
  const released = new Promise((done) => { release = done; });
  await scene.page.route('**/api/settings', async (route) => { await released; await route.continue(); });
  await scene.open('#/settings');
  await skip();
  release();
  await scene.page.getByText('artifacts.public_url_days').waitFor();
  await scene.settled();
  assert.equal(await focused(), 'main');
  await skip();
});
