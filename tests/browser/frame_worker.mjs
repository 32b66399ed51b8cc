// Simulation workers that speak to the server as any worker does, and fail the frames that a test wants to fail.

import assert from 'node:assert/strict';
import { base, enrolSecret } from './environment.mjs';
import { act, fresh } from './server.mjs';

const WAIT_MS = 200;
const FINE = { queueRatio: 0.1, gpuUsage: 0.2, lastFrame: 0, status: 'ok' };

/** Registers a worker; gives `{id, call(method, path, body)}`, which answers `{status, body}`. */
export async function registerWorker(id = fresh('sim')) {
  const { status, body } = await send('POST', '/api/v1/workers/register', {
    token: enrolSecret, body: { workerId: id, role: 'simulation', capabilities: { cameras: 1, gpu: 'none', slots: 1 }, currentSession: null },
  });
  assert.equal(status, 201, JSON.stringify(body));
  return { id, call: (method, path, more) => send(method, path, { token: body.workerToken, body: more }) };
}

/** Sends a heartbeat of a worker in good health. */
export const beat = (worker) => worker.call('POST', `/api/v1/workers/${worker.id}/heartbeat`, FINE);

/**
 * Has two workers do all ranges while `run(bad)` goes on: ranges that hold a frame of the set `bad` fail. The workers of the
 * stage get no work meanwhile, since they would render every frame. Choose frames of one range at the end: who has completed
 * ranges is not put into quarantine for the one that fails.
 */
export async function withFailingFrames(frames, run) {
  const bad = new Set(frames);
  const others = ['W1', 'W2'];
  for (const other of others) await act('POST', `/api/v1/workers/${other}/quarantine`, { reason: 'other workers fail frames' });
  const workers = await Promise.all([renderer(bad), renderer(bad)]);
  try {
    await run(bad);
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    for (const other of others) await act('POST', `/api/v1/workers/${other}/approve`, { reason: 'the frames have failed' });
  }
}

async function renderer(bad) {
  const worker = await registerWorker();
  let isOver = false;
  const work = async () => {
    while (!isOver) {
      await beat(worker);
      const { body } = await worker.call('GET', `/api/v1/workers/${worker.id}/tasks?wait_ms=${WAIT_MS}`);
      if (body?.task) await render(worker, body.task, bad);
    }
  };
  const working = work();
  const stop = async () => {
    isOver = true;
    await working;
    await worker.call('DELETE', `/api/v1/workers/${worker.id}`);
  };
  return { stop };
}

async function render(worker, { taskId, attempt, frameRange, globalIdChunk: { chunkId }, replay }, bad) {
  const path = `/api/v1/tasks/${encodeURIComponent(taskId)}`;
  const failing = [...bad].find((frame) => frame >= frameRange[0] && frame < frameRange[1]);
  if (failing !== undefined) return worker.call('POST', `${path}/fail`, { workerId: worker.id, attempt, error: `the license server refused frame ${failing}` });
  const manifestFragment = { workerId: worker.id, frameRange, globalIdChunkId: chunkId, cameras: [], statistics: {}, validationSummary: {}, replay };
  return worker.call('POST', `${path}/complete`, { workerId: worker.id, attempt, manifestFragment, poseFiles: [], metricsSnapshot: {} });
}

async function send(method, path, { token, body }) {
  const headers = { authorization: `Bearer ${token}`, ...(body === undefined ? {} : { 'content-type': 'application/json' }) };
  const response = await fetch(base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body) });
  const text = await response.text();
  return { status: response.status, body: text ? JSON.parse(text) : null };
}
