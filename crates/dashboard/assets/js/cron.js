// Reads cron expressions that can be said in a few words. Pure: no language, no clock.

const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT'];

/**
 * What an expression says, if that is simple: `{form, n?, minute?, time?, days?, day?}` with the forms `minutely`, `minutes`,
 * `hourly`, `hours`, `daily`, `workdays` (Monday to Friday), `weekly`, `monthly`; null otherwise. Days are 0 (Sunday) to 6.
 */
export function readCron(expression) {
  const parts = expression.trim().toUpperCase().split(/\s+/);
  if (parts.length !== 5) return null;
  const [minute, hour, day, month, weekday] = parts;
  if (month !== '*') return null;
  const everyDay = day === '*' && weekday === '*';
  if (everyDay && hour === '*') return withinHour(minute);
  const at = whole(minute, 59);
  if (at === null) return null;
  if (everyDay && step(hour)) return { form: 'hours', n: step(hour), minute: at };
  const time = clock(hour, at);
  if (time === null) return null;
  if (everyDay) return { form: 'daily', time };
  if (day === '*') return weekly(weekday, time);
  const date = whole(day, 31);
  return weekday === '*' && date ? { form: 'monthly', day: date, time } : null;
}

function withinHour(minute) {
  if (minute === '*' || minute === '*/1') return { form: 'minutely' };
  // Steps that do not divide an hour begin anew with each: that is more than "every n minutes".
  if (step(minute)) return 60 % step(minute) === 0 ? { form: 'minutes', n: step(minute) } : null;
  const at = whole(minute, 59);
  return at === null ? null : { form: 'hourly', minute: at };
}

function weekly(weekday, time) {
  const days = new Set();
  for (const part of weekday.split(',')) {
    const [from, to = from] = part.split('-').map(dayOf);
    if (from === null || to === null || from > to || part.split('-').length > 2) return null;
    for (let day = from; day <= to; day++) days.add(day % 7);
  }
  const sorted = [...days].sort((a, b) => (a || 7) - (b || 7));
  return sorted.join() === '1,2,3,4,5' ? { form: 'workdays', time } : { form: 'weekly', days: sorted, time };
}

const dayOf = (text) => (DAYS.includes(text) ? DAYS.indexOf(text) : whole(text, 7));
const whole = (text, most) => (/^\d{1,2}$/.test(text) && Number(text) <= most ? Number(text) : null);

function step(text) {
  const found = /^\*\/(\d{1,2})$/.exec(text);
  return found && Number(found[1]) > 0 ? Number(found[1]) : null;
}

function clock(hour, minute) {
  const at = whole(hour, 23);
  return at === null ? null : `${String(at).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
}
