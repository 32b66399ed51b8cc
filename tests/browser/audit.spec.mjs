// Who did what is found again, with the reason, and can be taken along.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { act, fresh } from './server.mjs';
import { inEveryLanguage } from './suite.mjs';

inEveryLanguage('audit: an act and its reason are shown, filtered, searched and exported', { path: '#/schedules' }, async (scene) => {
  const title = fresh('audited');
  const reason = `because ${title}, "quoted"`;
  const { schedule_id: id } = await act('POST', '/api/schedules', { cron: '0 6 * * *', run: { workflow_id: 'hello', title } });
  await scene.row(title).getByRole('button', { name: scene.t('schedules.delete') }).click();
  await scene.confirm('schedules.delete_confirm', reason);

  await scene.open('#/audit');
  await scene.row(reason).getByText('delete_schedule').waitFor();
  await scene.field('audit.action').fill('delete_schedule');
  await scene.page.waitForFunction(() => [...document.querySelectorAll('tbody td:nth-child(3)')].every((cell) => cell.textContent === 'delete_schedule'));
  await scene.row(reason).waitFor();
  await Promise.all([scene.page.waitForResponse((answer) => answer.url().includes(`subject_contains=${id}`)), scene.field('audit.search').fill(id)]);
  await scene.page.getByText(scene.t('audit.count_all', { n: 1 }), { exact: true }).waitFor();
  const [download] = await Promise.all([scene.page.waitForEvent('download'), scene.button('audit.export', { n: 1 }).click()]);
  const lines = readFileSync(await download.path(), 'utf8').trimEnd().split('\r\n');
  assert.equal(lines.length, 2);
  assert.ok(lines[1].includes(id) && lines[1].includes(reason.replaceAll('"', '""')), lines[1]);
});
