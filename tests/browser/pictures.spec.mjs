// The pictures of the documentation: a fleet at work, as large as people read them. Only on request: `MUSTER_PICTURES` says where they go.

import { join } from 'node:path';
import { picturesTo } from './environment.mjs';
import { act, eventually, read } from './server.mjs';
import { test } from './suite.mjs';
import { submitRun, submitSession } from './work.mjs';

/** Those that do not drain. */
const PCS = ['01', '02', '03', '04', '06', '07', '08', '09', '10', '11', '12'].map((number) => `PC-${number}`);
const SIZE = { width: 1440, height: 900 };
/** So long the fleet works before it is looked at: the curves have something to show then. */
const AT_WORK_MS = 60_000;

test('pictures: overview and fleet', { when: Boolean(picturesTo), path: '#/overview' }, async (scene) => {
  await scene.page.setViewportSize(SIZE);
  await work();
  const end = Date.now() + AT_WORK_MS;
  for (let round = 1; Date.now() < end; round++) {
    const failing = round % 3 ? { fail_step: 'LOGIN_FLOW', failure_reason: 'login_flow_timeout' } : { fail_step: 'SCREENSHOT' };
    const simulate = { step_ms: 400, fail_percent: 5, seed: round, ...failing };
    await submitRun({ title: `round ${round}`, queue: `round-${round}`, pcs: PCS, simulate, max_attempts: 2 });
    for (let n = 0; n < 6; n++) await act('POST', '/jobs', { payload: { op: 'sum', values: n === 3 ? undefined : [round, n] }, max_attempts: 1 });
    await scene.page.waitForTimeout(5000);
  }
  await submitRun({ title: 'all of them', queue: 'nightly', simulate: { step_ms: 4000 } });
  await submitRun({ title: 'after them', queue: 'nightly' });
  await eventually('many devices run', async () => (await read('/api/overview')).devices.running >= 60);
  await scene.page.reload();
  await scene.page.getByText(scene.t('shell.standing_live'), { exact: true }).waitFor();
  await scene.page.waitForTimeout(4000);
  await scene.page.screenshot({ path: join(picturesTo, 'overview.png') });
  await scene.open('#/fleet');
  await scene.settled();
  await scene.page.screenshot({ path: join(picturesTo, 'fleet.png') });
});

async function work() {
  await submitSession({ totalFrames: 1000000, framesPerTask: 60 });
  await act('POST', '/api/nodes/PC-05/drain');
}
