// The court: its queues, its questions, one task across its files.

import assert from 'node:assert/strict';
import { hasCourt, hasStage } from './environment.mjs';
import { eventually, read } from './server.mjs';
import { stage } from './stage.mjs';
import { inEveryLanguage } from './suite.mjs';

inEveryLanguage('court: where none is connected, the page says how', { role: 'VIEWER', path: '#/court', refusals: [404], when: !hasCourt }, async (scene) => {
  await scene.heading('court.none_title').waitFor();
  await scene.page.getByText('muster serve --court DIR', { exact: true }).waitFor();
  await scene.checkAccess();
});

inEveryLanguage('court: what needs an answer and what failed is seen without scrolling to the side', { role: 'VIEWER', path: '#/court', when: hasCourt }, async (scene) => {
  const column = (name) => scene.page.getByRole('region', { name: scene.t(`court.place_tasks_${name}`), exact: true });
  for (const width of [1280, 1440, 375]) {
    await scene.page.setViewportSize({ width, height: 900 });
    for (const name of ['needs_human', 'failed']) {
      const { x, width: wide } = await column(name).boundingBox();
      assert.ok(x >= 0 && x + wide <= width, `${name} at ${width} pixels: ${x} + ${wide}`);
    }
    await scene.checkWidth();
    await scene.shot(`court ${width} ${scene.language}`);
  }
});

async function openQuestion() {
  const [first] = (await read('/api/court/inbox')).questions;
  assert.ok(first, 'the court was to have a question that is open');
  return first;
}

const boxOf = (scene, task) => scene.page.getByRole('article', { name: scene.t('court.question_of', { task }) });

inEveryLanguage('court: queues as columns, and the way to a task with its files', { role: 'VIEWER', path: '#/court', when: hasCourt }, async (scene) => {
  const { places } = await read('/api/court');
  for (const { place } of places) await scene.page.getByRole('region', { name: scene.t(`court.place_${place.replace(/^(queue|state)\//, '').replaceAll('/', '_')}`) }).first().waitFor();
  const { task_id: task } = await openQuestion();
  await boxOf(scene, task).getByText(scene.t('court.needs_operator')).waitFor();
  await scene.checkAccess();
  await boxOf(scene, task).getByRole('link', { name: task, exact: true }).click();
  await scene.page.getByRole('heading', { level: 1, name: task }).waitFor();
  const { timeline } = await read(`/api/court/tasks/${task}`);
  assert.equal(await scene.page.locator('.timeline > li').count(), timeline.length);
  await scene.page.getByRole('region', { name: 'task', exact: true }).getByText(task).waitFor();
  await scene.checkAccess();
  await scene.shot(`court task ${scene.language}`);
});

const over = async () => (await read('/api/court')).places.find(({ place }) => place.endsWith('tasks/completed')).count;

inEveryLanguage('court: what is typed survives the next look; the answer is taken, and the task goes on', { role: 'OPERATOR', path: '#/court', when: hasCourt && hasStage }, async (scene) => {
  await stage('ask');
  const { task_id: task } = await openQuestion();
  const [before, { timeline }] = [await over(), await read(`/api/court/tasks/${task}`)];
  const box = boxOf(scene, task);
  await box.getByLabel(scene.t('court.answer')).fill('Follow Ann.');
  const looked = () => scene.page.waitForResponse((response) => response.url().endsWith('/api/court/inbox'));
  await looked();
  await looked();
  assert.equal(await box.getByLabel(scene.t('court.answer')).inputValue(), 'Follow Ann.');
  await box.getByRole('button', { name: scene.t('court.reply') }).click();
  await scene.told('court.replied', { task });
  await eventually('the question is answered', async () => !(await read('/api/court/inbox')).questions.some((question) => question.task_id === task));
  await box.waitFor({ state: 'detached' });
  await eventually('the work with the answer is over', async () => (await over()) > before);
  await scene.open(`#/court/${task}`);
  await eventually('its story goes on', async () => {
    const { timeline: now } = await read(`/api/court/tasks/${task}`);
    return now.length > timeline.length && (await scene.page.locator('.timeline > li').count()) === now.length;
  });
  await scene.checkWords();
});
