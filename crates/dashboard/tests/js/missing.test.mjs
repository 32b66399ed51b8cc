// A result that lacks something is never told as a plain success.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failedFrames, framesIn, isIncomplete, isPartial, missingDevices, missingFrames } from '../../assets/js/missing.js';
import { formOf } from '../../assets/js/pages/overview/sentence_form.js';
import { canRetire, canRetry } from '../../assets/js/pages/sessions/allowed.js';
import { failedText, rangeText } from '../../assets/js/pages/sessions/frames_text.js';
import { loadLanguage, percent } from '../../assets/js/text.js';

globalThis.localStorage = { getItem: () => null, setItem: () => {} };
Object.defineProperty(globalThis, 'navigator', { value: { languages: ['en'] }, configurable: true });
globalThis.document = { documentElement: {} };
await loadLanguage();

const run = (more) => ({ status: 'success', outcome: 'partial', total: 300, counts: { pending: 0, running: 0, completed: 297, failed: 2, cancelled: 1 }, ...more });

test('Q7b: a run that left devices out is partial, and says how many are missing', () => {
  assert.ok(isPartial(run()));
  assert.equal(missingDevices(run()), 3);
  assert.equal(missingDevices(run({ total: 310 })), 13, 'also those without a row');
  assert.equal(missingDevices(run({ total: null })), 3, 'as far as rows tell');
  for (const other of [{ outcome: 'complete' }, { outcome: undefined }, { status: 'running', outcome: 'open' }, { status: 'failed', outcome: 'failed' }]) {
    assert.equal(isPartial(run(other)), false);
    assert.equal(missingDevices(run(other)), 0);
  }
});

const session = (more) => ({ status: 'completed', complete: false, totalFrames: 1000, completedFrames: 988, skippedFrames: 12, ...more });

test('S23b: a session completed without some of its frames is incomplete', () => {
  assert.ok(isIncomplete(session()));
  assert.equal(missingFrames(session()), 12);
  assert.equal(missingFrames(session({ skippedFrames: undefined })), 12);
  for (const other of [{ complete: true }, { complete: undefined }, { status: 'failed' }, { status: 'running' }]) assert.equal(isIncomplete(session(other)), false);
});

test('S26b: failed frames are counted', () => {
  const ranges = [[3, 4], [40, 42], [50, 60]];
  assert.equal(framesIn(ranges), 13);
  assert.equal(failedFrames({ failedFrames: ranges, skippedFrames: 99 }), 13, 'the page of a session names them');
  assert.equal(failedFrames({ skippedFrames: 12 }), 12, 'a list has their number');
  assert.equal(failedFrames({}), 0, 'an older server has neither');
});

test('S26b: failed frames are named, the first of many', () => {
  assert.deepEqual([rangeText([3, 4]), rangeText([40, 42])], ['3', '40–41']);
  assert.equal(failedText({ failedFrames: [[3, 4], [40, 42]] }), '3 frames failed: 3, 40–41');
  assert.equal(failedText({ skippedFrames: 1 }), '1 frame failed');
  assert.match(failedText({ failedFrames: Array.from({ length: 15 }, (_, n) => [10 * n, 10 * n + 1]) }), /^15 frames failed: 0, 10, .*, 110, and 3 more$/);
});

test('S26b: failed frames of a session can be retried, unless it was cancelled', () => {
  assert.deepEqual(['running', 'paused', 'completed', 'failed', 'cancelled'].map((status) => canRetry({ status, failedFrames: [[3, 4]] })), [true, true, true, true, false]);
  assert.equal(canRetry({ status: 'failed', failedFrames: [] }), false);
  assert.equal(canRetry({ status: 'failed', skippedFrames: 1 }), true);
});

test('S17: the chunk of a range that is held or done can be retired while its session is open', () => {
  const fits = (more) => canRetire({ status: 'running', isOpen: true, globalIdChunk: { chunkId: 7 }, ...more });
  assert.deepEqual(['assigned', 'running', 'completed', 'pending', 'lost', 'failed', 'cancelled'].map((status) => fits({ status })), [true, true, true, false, false, false, false]);
  assert.equal(fits({ isOpen: false }), false);
  assert.equal(fits({ globalIdChunk: null }), false);
});

test('Q7b, S23b: the feed tells of an end with something missing in other words', () => {
  const form = (kind, body) => formOf({ kind, body }, (key) => ['event.job_ended_error', 'event.session_ended_error', 'event.range_reopened_reason'].includes(key));
  assert.equal(form('job_ended', { status: 'success', outcome: 'partial' }), 'partial');
  assert.equal(form('job_ended', { status: 'success', outcome: 'complete' }), undefined);
  assert.equal(form('job_ended', { status: 'failed', outcome: 'failed', error: 'x' }), 'error');
  assert.equal(form('session_ended', { status: 'completed', error: '1 frame missing' }), 'partial');
  assert.equal(form('session_ended', { status: 'completed' }), undefined);
  assert.equal(form('session_ended', { status: 'failed', error: 'x' }), 'error');
  assert.equal(form('range_reopened', { reason: 'skipped' }), 'reason');
  assert.equal(form('chunk_retired', { reason: 'x' }), undefined);
  assert.equal(form('alert_raised', { alert: 'worker_zombie' }), 'worker');
  assert.equal(form('alert_raised', { alert: 'heartbeat_late' }), undefined);
});

test('S23b: only the whole is 100 %', () => {
  assert.deepEqual([0, 0.5, 0.999, 0.9999999, 1].map(percent), ['0%', '50%', '99%', '99%', '100%']);
});
