// Questions that only a person can answer, each with a box for the answer.

import { may, post } from '../../api.js';
import { h, say } from '../../dom.js';
import { blame, unblame } from '../../parts/form.js';
import { keyed } from '../../parts/keyed.js';
import { notice } from '../../parts/notice.js';
import { why } from '../../parts/why_link.js';
import { to } from '../../router.js';
import { ago, moment, t } from '../../text.js';

/** The inbox; `set(questions)` draws. Its element sends `answered` when an answer was taken. */
export function inbox() {
  const list = h('ul', { class: 'inbox' });
  const none = h('p', { class: 'quiet' }, t('court.inbox_none'));
  const element = h('section', { 'aria-labelledby': 'court-inbox' }, h('h2', { id: 'court-inbox' }, t('court.inbox')), list, none);
  const draw = keyed(list, ({ task_id: task, asked_at: at }) => `${task} ${at}`, (asked) => {
    const part = question(asked, () => element.dispatchEvent(new Event('answered')));
    return { element: h('li', {}, part.element), update: part.update };
  });
  const set = (questions) => {
    draw(questions);
    none.hidden = questions.length > 0;
    list.hidden = questions.length === 0;
  };
  return { element, set };
}

/** One question with its box; whoever may not answer is told which role may. On the task's own page nothing leads to it. */
export function question(asked, answered, { isHome = false } = {}) {
  const age = h('time', { datetime: new Date(asked.asked_at).toISOString(), title: moment(asked.asked_at) });
  const element = h('article', { class: 'card question', 'aria-label': t('court.question_of', { task: asked.task_id }) },
    h('p', { class: 'quiet' },
      !isHome && [h('a', { href: to('court', asked.task_id) }, h('code', {}, asked.task_id)), ' · '],
      asked.general, ' · ', age,
      !isHome && [' · ', why('court_task', asked.task_id)]),
    h('p', { class: 'asked' }, asked.question),
    may.operate() ? replyForm(asked.task_id, answered) : h('p', { class: 'quiet' }, t('court.needs_operator')));
  return { element, update: (now) => say(age, ago(now.asked_at)) };
}

function replyForm(task, answered) {
  const error = h('p', { class: 'error', role: 'alert' });
  const send = h('button', { class: 'primary' }, t('court.reply'));
  const submit = async (event) => {
    event.preventDefault();
    const form = event.target;
    send.disabled = true;
    say(error, '');
    unblame(form);
    try {
      await post(`/api/court/tasks/${encodeURIComponent(task)}/reply`, { text: new FormData(form).get('text') });
      form.reset();
      notice(t('court.replied', { task }));
      answered();
    } catch (refusal) {
      say(error, blame(form, refusal));
    }
    send.disabled = false;
  };
  return h('form', { onSubmit: submit },
    h('label', { class: 'field' }, h('span', {}, t('court.answer')), h('textarea', { name: 'text', rows: 2, required: true, maxlength: 40000 })),
    error,
    h('div', { class: 'actions' }, send));
}
