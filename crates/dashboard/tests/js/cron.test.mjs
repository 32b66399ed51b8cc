// Simple cron expressions are understood, others are left as they are.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCron } from '../../assets/js/cron.js';

const cases = [
  ['* * * * *', { form: 'minutely' }],
  ['*/30 * * * *', { form: 'minutes', n: 30 }],
  ['5 * * * *', { form: 'hourly', minute: 5 }],
  ['15 */4 * * *', { form: 'hours', n: 4, minute: 15 }],
  ['0 6 * * *', { form: 'daily', time: '06:00' }],
  ['30 18 * * MON-FRI', { form: 'workdays', time: '18:30' }],
  ['0 6 * * 0,3', { form: 'weekly', days: [3, 0], time: '06:00' }],
  ['0 6 * * sat-7', { form: 'weekly', days: [6, 0], time: '06:00' }],
  ['0 6 13 * *', { form: 'monthly', day: 13, time: '06:00' }],
];

for (const [expression, meaning] of cases) {
  test(expression, () => assert.deepEqual(readCron(expression), meaning));
}

test('what takes more words than it saves is left alone', () => {
  for (const expression of ['*/7 * * * *', '0 6 13 * FRI', '0 6 * 1 *', '0,30 6 * * *', '0 6-8 * * *', '0 6 * * FRI-MON', '61 * * * *', '0 6 * *', '@daily', '']) {
    assert.equal(readCron(expression), null, expression);
  }
});
