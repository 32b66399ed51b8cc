// Work for the fleet of the stage: runs that go well or fail as wanted, devices brought back, sessions, jobs.

import { act, eventually, fresh, read } from './server.mjs';

const SHIPPED = 'login_settings_screenshot_v1';

/** Submits a run; `simulate` says what becomes of it on simulated devices. Gives its id. */
export async function submitRun({ simulate = {}, devices, pcs, title = fresh('run'), ...more }) {
  const scope = devices ? { devices } : pcs ? { pcs } : undefined;
  const { run_id: id } = await act('POST', '/api/runs', { workflow_id: SHIPPED, title, scope, params: { simulate: { step_ms: 1, ...simulate } }, max_attempts: 1, ...more });
  return id;
}

/** Waits until a run is over. */
export const endedRun = (id) => eventually(`run ${id} is over`, async () => {
  const run = await read(`/api/runs/${id}`);
  return ['pending', 'running'].includes(run.status) ? null : run;
});

/** A run that is over, in which every device named failed for the reason it is given. */
export async function failedRun(reasons, more = {}) {
  const devices = Object.fromEntries(Object.entries(reasons).map(([device, reason]) => [device, { fail_step: 'LOGIN_FLOW', failure_reason: reason }]));
  return endedRun(await submitRun({ simulate: { devices }, devices: Object.keys(reasons), ...more }));
}

/** A run that goes on until it is cancelled, in a queue of its own: a queue does one run at a time. */
export const endlessRun = (more) => submitRun({ simulate: { hang_step: 'LOGIN_FLOW' }, queue: fresh('endless'), ...more });

/** Returns every device that is out of service. */
export async function returnDevices() {
  const { devices } = await read('/api/devices?limit=1000');
  for (const { device_id: id } of devices.filter(({ status }) => status === 'ERROR')) await act('POST', `/api/devices/${id}/return`, { note: 'for the next test' });
}

/** After a test that failed: nothing of it runs on, is out of service, or drains, so that the next one can go well. */
export async function tidy() {
  const { runs } = await read('/api/runs?limit=1000');
  for (const { run_id: id, status } of runs) if (['pending', 'running'].includes(status)) await act('POST', `/api/runs/${id}/cancel`);
  const { sessions } = await read('/api/v1/sessions?limit=1000');
  for (const { sessionId: id, status } of sessions) if (['running', 'paused'].includes(status)) await act('POST', `/api/v1/sessions/${id}/cancel`);
  const { pcs } = await read('/api/pcs?limit=1000');
  for (const { pc_id: id, draining } of pcs) if (draining) await act('POST', `/api/nodes/${id}/resume`);
  await returnDevices();
}

/** The newest acts in the audit log that have this text in their subject. */
export const audited = async (text) => (await read('/audit?limit=1000')).acts.filter(({ subject }) => subject.includes(text));

/** Submits a session; gives its name. */
export async function submitSession(more = {}) {
  const name = fresh('s');
  await act('POST', '/api/v1/sessions', { sessionId: name, totalFrames: 120, framesPerTask: 20, ...more });
  return name;
}

export const sessionOf = (name) => read(`/api/v1/sessions/${name}`);

/** Waits until a session has this status. */
export const sessionIs = (name, status) => eventually(`session ${name} is ${status}`, async () => (await sessionOf(name)).status === status, 60000);
