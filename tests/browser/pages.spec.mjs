// Every page, in every language, both themes and on every screen: clean, accessible, and photographed.

import { hasCourt } from './environment.mjs';
import { viewports } from './scene.mjs';
import { act, eventually, read } from './server.mjs';
import { inEveryLanguage } from './suite.mjs';
import { endedRun, endlessRun, sessionIs, submitRun, submitSession } from './work.mjs';

/** Pages by what their heading says, and where they are: those that show one thing are told which there are. */
const PAGES = {
  overview: ['nav.overview', () => '#/overview'],
  fleet: ['nav.fleet', () => '#/fleet'],
  'fleet sim': ['nav.fleet', () => '#/fleet?tab=sim'],
  'fleet pool': ['nav.fleet', () => '#/fleet?tab=pool'],
  device: ['fleet.device_title', ({ device }) => `#/fleet/device/${device}`, ({ device }) => ({ id: device })],
  node: ['fleet.node_title', () => '#/fleet/node/PC-01', () => ({ id: 'PC-01' })],
  worker: ['fleet.worker_title', () => '#/fleet/worker/W1', () => ({ id: 'W1' })],
  runs: ['nav.runs', () => '#/runs'],
  run: [null, ({ run }) => `#/runs/${run}`],
  sessions: ['nav.sessions', () => '#/sessions'],
  session: [null, ({ session }) => `#/sessions/${session}`],
  jobs: ['nav.jobs', () => '#/jobs'],
  job: ['jobs.job_n', ({ job }) => `#/jobs/${job}`, ({ job }) => ({ id: String(job) })],
  why: ['nav.why', () => '#/why'],
  'why answered': ['nav.why', ({ waiting }) => `#/why/run/${waiting}`],
  court: ['nav.court', () => '#/court'],
  'court task': [null, ({ courtTask }) => `#/court/${courtTask}`],
  schedules: ['nav.schedules', () => '#/schedules'],
  audit: ['nav.audit', () => '#/audit'],
  users: ['nav.users', () => '#/users'],
  settings: ['nav.settings', () => '#/settings'],
};

for (const [name, page] of Object.entries(PAGES)) {
  if (name === 'court task' && !hasCourt) continue;
  const refusals = name === 'court' && !hasCourt ? [404] : [];
  inEveryLanguage(`pages: ${name}`, { refusals }, visit(name, page));
}

function visit(name, [heading, path, values]) {
  return async (scene) => {
    const things = await (made ??= makeThings());
    await scene.open(path(things));
    if (heading) await scene.page.getByRole('heading', { level: 1, name: scene.t(heading, values?.(things)), exact: true }).waitFor();
    await scene.settled();
    await scene.checkWords();
    await look(scene, `${name} desktop light`);
    await scene.checkAccess();
    await scene.paint('dark');
    await look(scene, `${name} desktop dark`);
    // Colours and sizes are the same in every language: one will do where they alone differ.
    if (scene.language === 'en') await scene.checkAccess();
    await scene.page.setViewportSize(viewports.phone);
    await look(scene, `${name} phone dark`);
    await scene.checkPlaceholders('.ask input');
    if (scene.language !== 'en') return;
    await scene.checkAccess();
    await scene.paint('light');
    await scene.page.setViewportSize(viewports.wall);
    await look(scene, `${name} wall light`);
  };
}

async function look(scene, name) {
  await scene.settled();
  await scene.checkWidth();
  await scene.shot(`${name} ${scene.language}`);
}

let made;

/** One of everything there is a page for: things that went well, that failed, that run and that wait. */
async function makeThings() {
  const simulate = { fail_attempts: 1, devices: { 'sim-0003': { fail_step: 'LOGIN_FLOW', failure_reason: 'adb_offline', fail_attempts: 9 }, 'sim-0005': { fail_step: 'UPLOAD' }, 'sim-0008': { fail_step: 'SCREENSHOT', fail_attempts: 9 } } };
  await endedRun(await submitRun({ title: 'all devices at night', simulate, max_attempts: 2 }));
  const run = await endedRun(await submitRun({ title: 'pictures of the lab', pcs: ['PC-03', 'PC-02'], simulate: { devices: { 'sim-0104': { fail_step: 'LOGIN_FLOW', failure_reason: 'login_flow_timeout' } } } }));
  await endlessRun({ title: 'a long one', devices: ['sim-0010', 'sim-0011', 'sim-0012'] });
  const waiting = await submitRun({ title: 'waits behind it', devices: ['sim-0010'] });
  const done = await submitSession();
  const session = await submitSession({ totalFrames: 100000, framesPerTask: 40 });
  const { id: job } = await act('POST', '/jobs', { payload: { op: 'sum', values: [20, 22] } });
  await act('POST', '/jobs', { payload: { op: 'sum' }, max_attempts: 1 });
  await act('POST', '/jobs', { payload: { op: 'sum', values: [1] }, region: 'nowhere' });
  await act('POST', '/api/schedules', { cron: '30 18 * * MON-FRI', timezone: 'Asia/Seoul', run: { workflow_id: 'hello', title: 'every evening' } });
  await eventually('the job is done', async () => (await read(`/jobs/${job}`)).status === 'completed');
  await sessionIs(done, 'completed');
  const courtTask = hasCourt ? (await read('/api/court/inbox')).questions[0].task_id : undefined;
  return { run: run.run_id, waiting, session, job, courtTask, device: 'kiosk-01' };
}
