// What the court tells is understood; what varies in it is kept word for word.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSentence } from '../../assets/js/pages/court/sentence.js';
import en from '../../assets/text/en.js';

const told = [
  ['event evt-1 (github.pr) came from github', 'event', { id: 'evt-1', kind: 'github.pr', source: 'github' }],
  ['the king made it the task task-1 for gen-pr', 'planned', { id: 'task-1', general: 'gen-pr' }],
  ['the event ended as completed', 'event_ended', { status: 'completed' }],
  ['the event ended as discarded: nobody takes it', 'event_ended_why', { status: 'discarded', why: 'nobody takes it' }],
  ['task task-1 (pr.review) was made for gen-pr', 'task', { id: 'task-1', kind: 'pr.review', general: 'gen-pr' }],
  ['it goes on with the answer to task-0', 'resumed', { id: 'task-0' }],
  ['message msg-1 (notification) to C1 was written', 'message_written', { id: 'msg-1', kind: 'notification', channel: 'C1' }],
  ['message msg-1 (notification) to C1 was posted', 'message_posted', { id: 'msg-1', kind: 'notification', channel: 'C1' }],
  ['message msg-1 (notification) to C1 could not be posted: no (such) channel', 'message_failed', { id: 'msg-1', kind: 'notification', channel: 'C1', why: 'no (such) channel' }],
  ['message msg-1 (notification) to C1 waits for the envoy', 'message_waits', { id: 'msg-1', kind: 'notification', channel: 'C1' }],
  ['attempt 2 began', 'attempt_began', { number: '2' }],
  ['attempt 2 is under way', 'attempt_runs', { number: '2' }],
  ['attempt 2 is under way, as the run 01a1 of the coordinator', 'attempt_remote', { number: '2', remote: 'run', id: '01a1' }],
  ['attempt 2 ended as completed', 'attempt_ended', { number: '2', status: 'completed' }],
  ['attempt 2 ended as failed: exit code 1', 'attempt_ended_why', { number: '2', status: 'failed', why: 'exit code 1' }],
  ['the result is needs_human: Ann or Bob?', 'result', { status: 'needs_human', why: 'Ann or Bob?' }],
  ['it asked: Ann or Bob?', 'asked', { why: 'Ann or Bob?' }],
  ['nobody has answered; `muster court reply task-1 TEXT` does', 'unanswered', {}],
  ['the answer evt-2 came: Ann, task', 'answer', { id: 'evt-2', why: 'Ann, task' }],
  ['the task task-2 goes on with it', 'goes_on', { id: 'task-2' }],
  ['task-1 cannot be read: no JSON', 'unreadable', { id: 'task-1', why: 'no JSON' }],
];

for (const [text, form, values] of told) {
  test(text, () => {
    const { key, values: found } = readSentence(text);
    assert.deepEqual([key, found], [`court.what_${form}`, values]);
    const placeholders = en.court[`what_${form}`].match(/\w+(?=\})/g) ?? [];
    assert.deepEqual(placeholders.toSorted(), Object.keys(values).toSorted(), 'the text shows all that varies');
  });
}

test('every form has an example here', () => {
  assert.deepEqual(told.map(([, form]) => `what_${form}`).toSorted(), Object.keys(en.court).filter((key) => key.startsWith('what_')).toSorted());
});

test('other sentences are left as they are', () => {
  assert.equal(readSentence('the roof fell down'), null);
});
