// What privileged people did, newest first.

import { csv } from '../csv.js';
import { fill, h, say } from '../dom.js';
import { complaint } from '../parts/notice.js';
import { firstOf } from '../parts/pages.js';
import { refresher } from '../parts/refresh.js';
import { sparing } from '../parts/sparing.js';
import { table } from '../parts/table.js';
import { moment, t } from '../text.js';
import { Log } from './audit/log.js';

const PAGE = 200;
const AGAIN_MS = 5000;
const TYPING_MS = 300;

export async function open({ root, title, signal }) {
  const log = new Log((wanted, after) => firstOf('/audit', wanted, { name: 'acts', most: PAGE, after, signal }), () => draw());
  const tools = filters((wanted) => told(log.filter(wanted)), signal);
  const list = actTable();
  const count = h('p', { class: 'quiet', role: 'status' });
  const more = h('button', { hidden: true, onClick: () => told(log.more()) }, t('shell.more'));
  const exporting = h('button', { onClick: () => download(log.lines) });
  const draw = () => {
    tools.offer(log.lines);
    list.set(numbered(log.lines));
    more.hidden = !log.next;
    more.disabled = log.isBusy;
    exporting.disabled = log.isBusy || log.lines.length === 0;
    say(exporting, t('audit.export', { n: log.lines.length }));
    say(count, log.isBusy ? t('shell.loading') : t(log.next ? 'audit.count' : 'audit.count_all', { n: log.lines.length }));
  };
  fill(root, title(t('nav.audit')), h('p', { class: 'quiet' }, t('audit.lead')), h('div', { class: 'tools audit-tools' }, tools.elements, exporting), count, list.element, more);
  await log.filter({});
  // A filter may look through much of the log.
  const spared = sparing(() => log.refresh());
  const fresh = refresher(() => spared.load(), { everyMs: AGAIN_MS, atOnce: false });
  return () => { fresh.close(); spared.stop(); };
}

const told = (asked) => asked.catch((error) => { if (error.name !== 'AbortError') complaint(error); });

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

/** What the server is asked for: an action, a person, and something in the subject. `changed` is given what is wanted when that is another. */
function filters(changed, signal) {
  let typing;
  let before = '{}';
  const apply = () => {
    clearTimeout(typing);
    const wanted = Object.fromEntries(Object.entries({ action: action.value(), actor: who.value(), subject_contains: search.value.trim() }).filter(([, value]) => value));
    if (JSON.stringify(wanted) === before) return;
    before = JSON.stringify(wanted);
    changed(wanted);
  };
  const soon = () => { clearTimeout(typing); typing = setTimeout(apply, TYPING_MS); };
  signal.addEventListener('abort', () => clearTimeout(typing), { once: true });
  const search = h('input', { type: 'search', name: 'search', placeholder: t('audit.search'), 'aria-label': t('audit.search'), onInput: soon, onChange: apply });
  const action = offered('action', t('audit.action'), apply);
  const who = offered('actor', t('audit.who'), apply);
  const offer = (acts) => {
    action.offer(acts.map((act) => act.action));
    who.offer(acts.map((act) => act.username));
  };
  return { elements: [action.element, who.element, search], offer };
}

/** An input that offers what was seen; anything else can be typed, too, and holds when it is typed to its end. */
function offered(name, label, apply) {
  const known = new Set();
  const seen = h('datalist', { id: `audit-${name}` });
  const typed = () => { if (input.value === '' || known.has(input.value)) apply(); };
  const input = h('input', { name, list: seen.id, placeholder: t('shell.all'), autocomplete: 'off', spellcheck: 'false', onInput: typed, onChange: apply });
  return {
    element: h('label', { class: 'picker' }, h('span', { class: 'quiet' }, label), ' ', input, seen),
    value: () => input.value.trim(),
    offer(values) {
      const fresh = [...new Set(values)].filter((value) => !known.has(value));
      if (fresh.length === 0) return;
      for (const value of fresh) known.add(value);
      fill(seen, [...known].sort().map((value) => h('option', { value })));
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
