// The court: its queues as columns, the questions that wait for people, and one task across its files.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { refresher } from '../parts/refresh.js';
import { pieces, t } from '../text.js';
import { board } from './court/board.js';
import { inbox } from './court/inbox.js';
import { openTask } from './court/task.js';

/** The court has no feed: it is asked. */
const AGAIN_MS = 2000;

export async function open(context) {
  const { root, args, title, signal } = context;
  try {
    if (args[0]) return await openTask(context, AGAIN_MS);
    const questions = inbox();
    const queues = board();
    const load = async () => {
      const [court, asked] = await Promise.all([get('/api/court', {}, signal), get('/api/court/inbox', {}, signal)]);
      queues.set(court.places);
      questions.set(asked.questions);
    };
    await load();
    fill(root, title(t('nav.court')), h('p', { class: 'quiet' }, t('court.lead')), questions.element, queues.element);
    const fresh = refresher(load, { everyMs: AGAIN_MS, atOnce: false });
    questions.element.addEventListener('answered', fresh.touch);
    return fresh.close;
  } catch (error) {
    if (error.status !== 404 || args[0]) throw error;
    return notConfigured(context, error.message);
  }
}

function notConfigured({ root, title }, answer) {
  fill(root, title(t('nav.court')),
    h('div', { class: 'card' },
      h('h2', {}, t('court.none_title')),
      h('p', {}, t('court.none_lead')),
      h('p', {}, pieces('court.none_how', { setting: h('code', {}, 'court.directory') })),
      h('pre', { tabindex: '0' }, 'muster serve --court DIR'),
      h('p', { class: 'quiet' }, t('court.none_answer', { answer }))));
}
