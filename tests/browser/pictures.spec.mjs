// The pictures of the documentation: a fleet at work, as large as people read them. Only on request: `MUSTER_PICTURES` says where they go.

import { join } from 'node:path';
import { picturesTo } from './environment.mjs';
import { act, eventually, read } from './server.mjs';
import { test } from './suite.mjs';
import { submitRun, submitSession } from './work.mjs';

const SIZE = { width: 1440, height: 900 };
/** So long the fleet works before it is looked at: the curves have something to show then. */
const AT_WORK_MS = 75_000;

test('pictures: overview and fleet', { when: Boolean(picturesTo), path: '#/overview' }, async (scene) => {
  await scene.page.setViewportSize(SIZE);
  await work();
  const end = Date.now() + AT_WORK_MS;
  for (let round = 1; Date.now() < end; round++) {
    await submitRun({ title: `round ${round}`, queue: `q${round}`, simulate: { step_ms: 150, fail_percent: 4, fail_step: 'LOGIN_FLOW', seed: round }, max_attempts: 1 + (round % 2) });
    for (let n = 0; n < 6; n++) await act('POST', '/jobs', { payload: { op: 'sum', values: n === 3 ? undefined : [round, n] }, max_attempts: 1 });
    await scene.page.waitForTimeout(4000);
  }
  await eventually('many devices run', async () => (await read('/api/overview')).devices.running > 20);
  await scene.page.screenshot({ path: join(picturesTo, 'overview.png') });
  await scene.open('#/fleet');
  await eventually('many devices run', async () => (await read('/api/overview')).devices.running > 20);
  await scene.settled();
  await scene.page.screenshot({ path: join(picturesTo, 'fleet.png') });
});

async function work() {
  await submitSession({ totalFrames: 1000000, framesPerTask: 60 });
  await act('POST', '/api/nodes/PC-05/drain');
}
