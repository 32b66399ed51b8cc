// The queues of the court, a column each.

import { h, say } from '../../dom.js';
import { keyed } from '../../parts/keyed.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { ago, hasText, moment, t } from '../../text.js';

/** What people look for stands first: tasks, among them those that need an answer. */
const GROUPS = ['tasks', 'events', 'messages', 'other'];

/** The board; `set(places)` draws what `GET /api/court` answered: a row of columns for each kind of file. */
export function board() {
  const rows = GROUPS.map(groupRow);
  const element = h('section', {}, h('h2', {}, t('court.queues')), rows.map((row) => row.element));
  const set = (places) => rows.forEach((row) => row.set(places.filter((place) => groupOf(place) === row.group)));
  return { element, set };
}

function groupRow(group) {
  const columns = h('div', { class: 'kanban', role: 'group', 'aria-label': t(`court.group_${group}`) });
  const draw = keyed(columns, ({ place }) => place, column);
  const set = (places) => {
    columns.hidden = places.length === 0;
    draw(places);
  };
  return { group, element: columns, set };
}

function groupOf({ place }) {
  const name = bare(place).split('/')[0];
  return GROUPS.includes(name) ? name : 'other';
}

const bare = (place) => place.replace(/^(queue|state)\//, '');

/** What a place is called here; places we have no name for keep the server's. */
function nameOf({ place, title }) {
  const key = `court.place_${bare(place).replaceAll('/', '_')}`;
  return hasText(key) ? t(key) : title;
}

function column(place) {
  const count = h('span', { class: 'count' });
  const cards = h('ul', {});
  const rest = h('p', { class: 'quiet' });
  const set = keyed(cards, ({ id }) => id, card);
  const update = (now) => {
    say(count, now.count);
    set(now.items);
    const hidden = now.count - now.items.length;
    say(rest, now.count === 0 ? t('court.empty') : t('court.further', { n: hidden }));
    rest.hidden = now.count > 0 && hidden <= 0;
    element.classList.toggle('empty', now.count === 0);
    // What scrolls can be reached with the keyboard.
    if (now.count > 0) element.setAttribute('tabindex', '0');
    else element.removeAttribute('tabindex');
  };
  const element = h('section', { class: 'queue', 'aria-label': nameOf(place) }, h('h3', {}, nameOf(place), ' ', count), cards, rest);
  return { element, update };
}

function card(item) {
  const age = h('time', { datetime: new Date(item.at).toISOString(), title: moment(item.at) });
  const name = h('code', {}, item.id);
  const facts = h('div', { class: 'quiet facts-line' });
  const title = h('div', { class: 'card-title' });
  const update = (now) => {
    say(age, ago(now.at));
    say(title, now.title ?? '');
    title.hidden = !now.title;
    say(facts, [now.general, now.priority && priority(now.priority)].filter(Boolean).join(' · '));
    facts.hidden = facts.textContent === '';
  };
  // A message has no story of its own.
  const hasStory = item.kind !== 'message';
  const element = h('li', { class: 'ticket' }, title, h('div', {}, hasStory ? h('a', { href: to('court', item.id) }, name) : name), facts, h('div', { class: 'quiet age' }, age, hasStory && why('court_task', item.id)));
  return { element, update };
}

const priority = (word) => (hasText(`court.priority_${word}`) ? t(`court.priority_${word}`) : word);
