// One task of the court: what happened to it, file by file, and what the files say.

import { get } from '../../api.js';
import { fill, h, say } from '../../dom.js';
import { badge } from '../../parts/badge.js';
import { keyed } from '../../parts/keyed.js';
import { refresher } from '../../parts/refresh.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { moment, span, statusWord, t } from '../../text.js';
import { question } from './inbox.js';
import { readSentence } from './sentence.js';

export async function openTask({ root, args: [id], title, signal }, againMs) {
  const state = h('span');
  const asked = h('div');
  const stations = timeline();
  const papers = documents();
  const setAsked = keyed(asked, ({ asked_at: at }) => at, (open) => question(open, () => fresh.touch(), { isHome: true }));
  const load = async () => {
    const [task, { questions }] = await Promise.all([get(`/api/court/tasks/${encodeURIComponent(id)}`, {}, signal), get('/api/court/inbox', {}, signal)]);
    fill(state, badge(task.state));
    stations.set(task.timeline);
    papers.set(task.documents);
    setAsked(questions.filter((open) => open.task_id === id));
  };
  await load();
  fill(root,
    h('p', {}, h('a', { href: to('court') }, t('court.back'))),
    title(h('code', {}, id)),
    h('p', { class: 'tools' }, state, why('court_task', id)),
    asked,
    h('div', { class: 'columns' },
      h('section', { class: 'card' }, h('h2', {}, t('court.timeline')), stations.element),
      h('section', { class: 'card' }, h('h2', {}, t('court.documents')), papers.element)));
  const fresh = refresher(load, { everyMs: againMs, atOnce: false });
  return fresh.close;
}

/** Stations one under the other, with the time that passed between them. */
function timeline() {
  const element = h('ol', { class: 'timeline' });
  const draw = keyed(element, ({ key }) => key, station);
  const set = (stations) => draw(stations.map((now, index) => ({ ...now, key: `${index} ${now.file} ${now.what}`, after: index ? now.at - stations[index - 1].at : null })));
  return { element, set };
}

function station({ at, what, file, after }) {
  return {
    element: h('li', {},
      h('div', { class: 'what' }, told(what)),
      h('div', { class: 'quiet' }, h('time', { datetime: new Date(at).toISOString() }, moment(at)), after !== null && [' · ', t('court.after', { span: span(after) })]),
      h('div', { class: 'quiet' }, h('code', {}, file))),
  };
}

/** The sentence in the language of the page, where its form is known. */
function told(what) {
  const read = readSentence(what);
  if (!read) return what;
  const { status } = read.values;
  return t(read.key, status === undefined ? read.values : { ...read.values, status: statusWord(status) });
}

/** Each document as JSON, open or closed as whoever looks left it. */
function documents() {
  const element = h('div');
  const draw = keyed(element, ([name]) => name, ([name]) => {
    const text = h('pre', { tabindex: '0', role: 'region', 'aria-label': name });
    return { element: h('details', { open: name === 'task' || name === 'result' }, h('summary', {}, h('code', {}, name)), text), update: ([, content]) => say(text, JSON.stringify(content, null, 2)) };
  });
  const set = (all) => draw(Object.entries(all ?? {}).filter(([, content]) => content !== null));
  return { element, set };
}
