// Sessions: steered one by one and together, with the map of their frames and what had to be made anew.

import assert from 'node:assert/strict';
import { enrolSecret } from './environment.mjs';
import { withFailingFrames } from './frame_worker.mjs';
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

const retireButtons = (scene) => region(scene, 'sessions.tasks').locator('button').filter({ hasText: scene.t('sessions.retire') });

/** The colour that most of a frame's cell has on the map: a cross or a hatch over it covers less. */
const cellColour = (scene, frame) => scene.page.getByRole('slider').evaluate((canvas, at) => {
  const size = Math.round(parseFloat(getComputedStyle(document.documentElement).fontSize) * 0.8);
  const columns = Math.round(parseFloat(canvas.style.width) / size);
  const scale = canvas.width / parseFloat(canvas.style.width);
  const [x, y] = [(at % columns) * size + 2, Math.floor(at / columns) * size + 2];
  const inner = Math.round((size - 4) * scale);
  // A copy, because the browser warns of a page that reads its own canvas.
  const pen = Object.assign(document.createElement('canvas'), { width: canvas.width, height: canvas.height }).getContext('2d', { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const { data } = pen.getImageData(Math.round(x * scale), Math.round(y * scale), inner, inner);
  const counts = new Map();
  for (let i = 0; i < data.length; i += 4) {
    const colour = data.slice(i, i + 3).join(', ');
    counts.set(colour, (counts.get(colour) ?? 0) + 1);
  }
  return [...counts].sort(([, one], [, other]) => other - one)[0][0];
}, frame);

/** Whether a cell shows a frame that is done; the hatch of one that was tried before makes it paler. */
const isGreen = (colour) => {
  const [red, green] = colour.split(', ').map(Number);
  return green > red;
};

/** A colour of the style sheet as the canvas has it. */
const colourOf = (scene, name) => scene.page.evaluate((variable) => {
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.setProperty('color', `var(--${variable})`);
  const found = getComputedStyle(probe).color.match(/\d+/g).slice(0, 3).join(', ');
  probe.remove();
  return found;
}, name);

inEveryLanguage('sessions: S26b: failed frames are red, named, and retried with a reason', { role: 'OPERATOR', when: Boolean(enrolSecret) }, async (scene) => {
  await withFailingFrames([19, 21, 22], async (bad) => {
    const name = await submitSession({ totalFrames: 24, framesPerTask: 8, qualityMode: 'strict' });
    await sessionIs(name, 'failed');
    assert.deepEqual((await sessionOf(name)).failedFrames, [[19, 20], [21, 23]]);
    await scene.open(`#/sessions/${name}`);
    await statusShown(scene, 'failed');
    await scene.page.locator('.facts .error').filter({ hasText: scene.t('sessions.failed_n', { n: 3 }) }).filter({ hasText: '19, 21–22' }).waitFor();
    await scene.page.locator('.key-of-map').getByText(scene.t('sessions.failed_n', { n: 3 }), { exact: true }).waitFor();
    const red = await colourOf(scene, 'bad');
    assert.deepEqual([await cellColour(scene, 19), await cellColour(scene, 21), await cellColour(scene, 22)], [red, red, red]);
    assert.ok(isGreen(await cellColour(scene, 20)));
    const lines = region(scene, 'sessions.diagnostics');
    for (const kind of ['ended', 'split', 'given_up']) await lines.getByText(scene.t(`sessions.kind_${kind}`), { exact: true }).first().waitFor();
    await scene.checkAccess();
    await scene.checkWords();
    await scene.shot(`session with failed frames ${scene.language}`);

    const reason = `${name}: the license server is back`;
    bad.clear();
    await steer(scene, 'retry', { session: name, reason });
    await sessionIs(name, 'completed');
    await statusShown(scene, 'completed');
    const done = await sessionOf(name);
    assert.deepEqual([done.complete, done.completedFrames, done.failedFrames], [true, 24, []]);
    await scene.button('sessions.retry').waitFor({ state: 'hidden' });
    await eventually('the cell is green', async () => isGreen(await cellColour(scene, 21)));
    await lines.getByText(scene.t('sessions.kind_retried'), { exact: true }).first().waitFor();
    assert.equal((await audited(reason)).length, 1);
  });
});

inEveryLanguage('sessions: S23b: a session without all its frames is not shown as completed', { role: 'OPERATOR', path: '#/sessions', when: Boolean(enrolSecret), refusals: [409] }, async (scene) => {
  await withFailingFrames([21], async () => {
    const name = await submitSession({ totalFrames: 24, framesPerTask: 8, qualityMode: 'relaxed' });
    await sessionIs(name, 'completed');
    const session = await sessionOf(name);
    assert.deepEqual([session.complete, session.skippedFrames], [false, 1]);
    const missing = scene.t('sessions.missing_n', { n: 1 });
    await scene.row(name).locator('.badge.warn').getByText(missing, { exact: true }).waitFor();
    assert.equal(await scene.row(name).getByText(scene.t('status.completed'), { exact: true }).count(), 0);
    await scene.shot(`sessions with one incomplete ${scene.language}`);
    await scene.open(`#/sessions/${name}`);
    await scene.page.locator('.heading .badge.warn').getByText(missing, { exact: true }).waitFor();
    await scene.checkAccess();

    // What the server refuses is told: the session has nothing that failed any more.
    await scene.page.route(`**/api/v1/sessions/${name}/retry`, (route) => route.fulfill({ status: 409, contentType: 'application/problem+json', body: JSON.stringify({ status: 409, detail: 'nothing failed among these frames' }) }));
    await scene.button('sessions.retry').click();
    await scene.confirm('sessions.retry_confirm', undefined, { n: 1 });
    await scene.page.locator('.notice.bad').getByText('nothing failed among these frames').waitFor();
  });
});

inEveryLanguage('sessions: S20b: a chunk is retired with a reason, and its frames are rendered again', { role: 'OPERATOR' }, async (scene) => {
  const name = await submitSession({ totalFrames: 100000, framesPerTask: 50 });
  const { globalIdChunk: { chunkId: chunk }, frameRange: [from, end] } = await eventually('a range is completed', async () => (await read(`/api/v1/sessions/${name}/tasks`)).tasks.find(({ status }) => status === 'completed'));
  const frames = { chunk: String(chunk), from: String(from), to: String(end - 1) };
  await scene.open(`#/sessions/${name}`);
  const button = scene.button('sessions.retire_chunk', frames);
  await button.waitFor();
  assert.ok((await retireButtons(scene).count()) > 0);
  await button.click();
  await scene.dialog.getByRole('heading', { name: scene.t('sessions.retire_title', frames), exact: true }).waitFor();
  await scene.dialog.getByText(scene.t('sessions.retire_what', frames)).waitFor();
  await scene.checkAccess();
  await scene.confirm('sessions.retire_confirm', `${name}: the frames are green`);
  await scene.told('sessions.retire_done', frames);
  await button.waitFor({ state: 'detached' });
  const { chunks } = await read(`/api/v1/chunks?state=retired&session=${name}`);
  assert.ok(chunks.some(({ chunkId, reason }) => chunkId === chunk && reason.includes('the frames are green')), JSON.stringify(chunks));
  assert.equal((await audited(`${name}: the frames are green`)).length, 1);
  await act('POST', `/api/v1/sessions/${name}/cancel`);
  await eventually('no chunk of an ended session can be retired', async () => (await retireButtons(scene).count()) === 0);
});

test('sessions: S20b: who only looks is offered neither', { role: 'VIEWER' }, async (scene) => {
  const name = await submitSession({ totalFrames: 100000, framesPerTask: 50 });
  await eventually('a range is held', async () => (await read(`/api/v1/sessions/${name}/tasks`)).tasks.length > 0);
  await scene.open(`#/sessions/${name}`);
  await region(scene, 'sessions.tasks').getByRole('row').nth(1).waitFor();
  assert.equal(await retireButtons(scene).count(), 0);
  assert.equal(await scene.button('sessions.retry').count(), 0);
  await act('POST', `/api/v1/sessions/${name}/cancel`);
});
