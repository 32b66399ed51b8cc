// What is shown of the log is what was asked for last, whatever comes late.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Log } from '../../assets/js/pages/audit/log.js';

/** A log whose answers come when the test gives them. */
function stage() {
  const asked = [];
  const log = new Log((wanted, after) => new Promise((give, refuse) => asked.push({ wanted, after, give, refuse })), () => {});
  return { log, asked };
}

async function opened() {
  const { log, asked } = stage();
  const done = log.filter({});
  asked.shift().give({ items: ['c', 'b'], next: 'b' });
  await done;
  return { log, asked };
}

test('a refresh under way does not undo what was read further back', async () => {
  const { log, asked } = await opened();
  const refreshed = log.refresh();
  const more = log.more();
  const [first, second] = asked;
  assert.deepEqual([first.after, second.after], [undefined, 'b']);
  second.give({ items: ['a'] });
  await more;
  first.give({ items: ['d', 'c'], next: 'c' });
  await refreshed;
  assert.deepEqual([log.lines, log.next], [['c', 'b', 'a'], undefined]);
});

test('whoever reads further back is left in peace', async () => {
  const { log, asked } = await opened();
  const more = log.more();
  await log.refresh();
  await log.more();
  assert.equal(asked.length, 1);
  asked[0].give({ items: ['a'], next: 'a' });
  await more;
  await log.refresh();
  assert.equal(asked.length, 1);
});

test('the first lines are read again', async () => {
  const { log, asked } = await opened();
  const refreshed = log.refresh();
  asked[0].give({ items: ['d', 'c'], next: 'c' });
  await refreshed;
  assert.deepEqual(log.lines, ['d', 'c']);
});

test('another question makes late answers to the one before worthless', async () => {
  const { log, asked } = await opened();
  const more = log.more();
  const filtered = log.filter({ action: 'x' });
  await log.more();
  assert.equal(asked.length, 2);
  asked[0].give({ items: ['a'] });
  await more;
  assert.deepEqual([log.lines, log.isBusy], [['c', 'b'], true]);
  asked[1].give({ items: ['x'], next: 'x' });
  await filtered;
  assert.deepEqual([log.lines, log.next, log.isBusy, asked[1].wanted], [['x'], 'x', false, { action: 'x' }]);
});

test('a refusal is told, and asking again is possible', async () => {
  const { log, asked } = await opened();
  const more = log.more();
  asked.shift().refuse(new Error('no'));
  await assert.rejects(more, /no/);
  assert.deepEqual([log.lines, log.next, log.isBusy], [['c', 'b'], 'b', false]);
  const filtered = log.filter({ action: 'x' });
  asked.shift().refuse(new Error('no'));
  await assert.rejects(filtered, /no/);
  assert.deepEqual([log.lines, log.next], [[], undefined]);
  const refreshed = log.refresh();
  assert.deepEqual(asked[0].wanted, { action: 'x' });
  asked[0].give({ items: ['x'] });
  await refreshed;
  assert.deepEqual(log.lines, ['x']);
});
