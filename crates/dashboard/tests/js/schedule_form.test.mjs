// A form about a schedule becomes what the server takes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runOf } from '../../assets/js/pages/schedules/run.js';

function form(given) {
  const all = { cron: ' 0 6 * * * ', timezone: 'UTC', missed: 'skip', 'run.workflow_id': 'w1', 'run.title': '', scope: 'all', 'run.scope': '', 'run.params': '', ...given };
  return { get: (name) => all[name] ?? null };
}
const t = (key, { fault }) => `${key}: ${fault}`;

test('what is empty is left out', () => {
  const body = JSON.parse(JSON.stringify(runOf(form({}), t)));
  assert.deepEqual(body, { cron: '0 6 * * *', timezone: 'UTC', missed: 'skip', run: { workflow_id: 'w1' } });
});

test('devices are named in three ways', () => {
  assert.deepEqual(runOf(form({ scope: 'pcs', 'run.scope': 'PC-01, PC-02\nPC-03' }), t).run.scope, { pcs: ['PC-01', 'PC-02', 'PC-03'] });
  assert.deepEqual(runOf(form({ scope: 'devices', 'run.scope': 'a' }), t).run.scope, { devices: ['a'] });
  assert.deepEqual(runOf(form({ scope: 'labels', 'run.scope': 'rack=7 note=a=b' }), t).run.scope, { labels: { rack: '7', note: 'a=b' } });
});

test('parameters that are no JSON are blamed on their field', () => {
  assert.throws(() => runOf(form({ 'run.params': '{' }), t), (error) => error.problem.field === 'run.params' && error.message.startsWith('schedules.no_json: '));
  assert.deepEqual(runOf(form({ 'run.params': '{"a": 1}' }), t).run.params, { a: 1 });
});
