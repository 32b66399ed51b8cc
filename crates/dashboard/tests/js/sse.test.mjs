// Events are the same however the text that carries them is cut.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventReader } from '../../assets/js/sse.js';

const read = (...pieces) => {
  const take = eventReader();
  return pieces.flatMap((piece) => take(piece));
};

test('an event has an id, a name and data', () => {
  assert.deepEqual(read('id: 7\nevent: task_ended\ndata: {"at":1}\n\n'), [{ id: '7', event: 'task_ended', data: '{"at":1}' }]);
});

test('one without a name is a message, and one without an id has none', () => {
  assert.deepEqual(read('data: x\n\n'), [{ id: null, event: 'message', data: 'x' }]);
});

test('an event is given when its blank line has come, and not before', () => {
  const take = eventReader();
  assert.deepEqual(take('id: 1\ndata: a'), []);
  assert.deepEqual(take('\n'), []);
  assert.deepEqual(take('\nid: 2\n').map(({ id }) => id), ['1']);
  assert.deepEqual(take('data: b\n\n').map(({ id, data }) => [id, data]), [['2', 'b']]);
});

test('text may be cut anywhere, with either end of line', () => {
  for (const end of ['\n', '\r\n']) {
    const text = [': alive', 'id: 1', 'event: a', 'data: one', 'data: two', '', 'id: 2', 'data: 한국어', '', ''].join(end);
    const whole = read(text);
    assert.deepEqual(whole, [{ id: '1', event: 'a', data: 'one\ntwo' }, { id: '2', event: 'message', data: '한국어' }]);
    for (let cut = 0; cut <= text.length; cut++) assert.deepEqual(read(text.slice(0, cut), text.slice(cut)), whole, `cut at ${cut}`);
    assert.deepEqual(read(...text), whole);
  }
});

test('comments, unknown fields and events without data are left out', () => {
  assert.deepEqual(read(': keep-alive\n\n', 'id: 3\nevent: nothing\n\n', 'retry: 5\ndata: x\n\n').map(({ id, data }) => [id, data]), [[null, 'x']]);
});

test('lines of data are joined, and only one space after the colon is dropped', () => {
  assert.deepEqual(read('data:a\ndata:  b\ndata\ndata: c:d\n\n')[0].data, 'a\n b\n\nc:d');
});
