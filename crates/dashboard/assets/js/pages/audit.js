// What privileged people did, newest first.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { table } from '../parts/table.js';
import { moment, t } from '../text.js';

const PAGE = 200;

export async function open({ root, title, signal }) {
  const acts = [];
  let next;
  const list = table({
    caption: t('nav.audit'),
    id: (act) => `${act.at} ${act.username} ${act.action} ${act.subject}`,
    columns: [
      { label: t('audit.at'), show: (act) => h('time', { datetime: act.at }, moment(act.at)) },
      { label: t('audit.who'), show: (act) => act.username },
      { label: t('audit.action'), show: (act) => h('code', {}, act.action) },
      { label: t('audit.subject'), show: (act) => act.subject },
    ],
  });
  const search = h('input', { type: 'search', name: 'search', placeholder: t('audit.search'), 'aria-label': t('audit.search'), onInput: () => draw() });
  const more = h('button', { onClick: () => load() }, t('shell.more'));
  const draw = () => {
    const wanted = search.value.toLowerCase();
    list.set(acts.filter((act) => `${act.username} ${act.action} ${act.subject}`.toLowerCase().includes(wanted)));
    more.hidden = !next;
  };
  const load = async () => {
    const page = await get('/audit', { limit: PAGE, after: next }, signal);
    acts.push(...page.acts);
    next = page.next;
    draw();
  };
  fill(root, title(t('nav.audit')), h('p', { class: 'quiet' }, t('audit.lead')), h('div', { class: 'tools' }, search), list.element, more);
  await load();
}
