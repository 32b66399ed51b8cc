// What privileged people did, newest first.

import { get } from '../api.js';
import { csv } from '../csv.js';
import { fill, h } from '../dom.js';
import { refresher } from '../parts/refresh.js';
import { table } from '../parts/table.js';
import { moment, t } from '../text.js';

const PAGE = 200;
const AGAIN_MS = 5000;

export async function open({ root, title, signal }) {
  const tools = filters(() => draw());
  const list = actTable();
  const more = h('button', { onClick: () => load(next) }, t('shell.more'));
  let acts = [];
  let next;
  const shown = () => acts.filter(tools.wants);
  const draw = () => {
    tools.offer(acts);
    list.set(numbered(shown()));
    more.hidden = !next;
  };
  const load = async (after) => {
    const page = await get('/audit', { limit: PAGE, after }, signal);
    acts = after ? [...acts, ...page.acts] : page.acts;
    next = page.next;
    draw();
  };
  const exportButton = h('button', { onClick: () => download(shown()) }, t('audit.export'));
  fill(root, title(t('nav.audit')), h('p', { class: 'quiet' }, t('audit.lead')), h('div', { class: 'tools' }, tools.elements, exportButton), list.element, more);
  await load();
  // Whoever has gone further back reads in peace: only the first page is loaded anew.
  const fresh = refresher(async () => { if (acts.length <= PAGE) await load(); }, { everyMs: AGAIN_MS, atOnce: false });
  return fresh.close;
}

function actTable() {
  return table({
    caption: t('nav.audit'),
    id: (act) => act.key,
    columns: [
      { label: t('audit.at'), show: (act) => h('time', { datetime: act.at }, moment(act.at)) },
      { label: t('audit.who'), show: (act) => act.username },
      { label: t('audit.action'), show: (act) => h('code', {}, act.action) },
      { label: t('audit.subject'), show: (act) => act.subject },
    ],
  });
}

/** Choices of action and person among those that were seen, and a search. */
function filters(changed) {
  const search = h('input', { type: 'search', name: 'search', placeholder: t('audit.search'), 'aria-label': t('audit.search'), onInput: changed });
  const action = offered('action', t('audit.action'), changed);
  const who = offered('who', t('audit.who'), changed);
  return {
    elements: [action.element, who.element, search],
    offer(acts) {
      action.offer(acts.map((act) => act.action));
      who.offer(acts.map((act) => act.username));
    },
    wants: (act) => action.wants(act.action) && who.wants(act.username) &&
      `${act.username} ${act.action} ${act.subject}`.toLowerCase().includes(search.value.trim().toLowerCase()),
  };
}

function offered(name, label, changed) {
  const select = h('select', { name, onChange: changed }, h('option', { value: '' }, t('shell.all')));
  const known = new Set();
  return {
    element: h('label', { class: 'picker' }, h('span', { class: 'quiet' }, label), ' ', select),
    wants: (value) => select.value === '' || select.value === value,
    offer(values) {
      const fresh = [...new Set(values)].filter((value) => !known.has(value));
      if (fresh.length === 0) return;
      const chosen = select.value;
      for (const value of fresh) known.add(value);
      fill(select, h('option', { value: '' }, t('shell.all')), [...known].sort().map((value) => h('option', { value }, value)));
      select.value = chosen;
    },
  };
}

/** Acts have no id, and two may be alike: told apart by how many alike are older. */
function numbered(acts) {
  const seen = new Map();
  return acts.toReversed().map((act) => {
    const text = JSON.stringify(act);
    seen.set(text, (seen.get(text) ?? 0) + 1);
    return { ...act, key: `${text} ${seen.get(text)}` };
  }).reverse();
}

function download(acts) {
  const rows = [['at', 'user_id', 'username', 'action', 'subject'], ...acts.map((act) => [act.at, act.user_id, act.username, act.action, act.subject])];
  const url = URL.createObjectURL(new Blob([csv(rows)], { type: 'text/csv;charset=utf-8' }));
  h('a', { href: url, download: `muster-audit-${new Date().toISOString().slice(0, 10)}.csv` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}
