// Rows of facts: sortable by nobody, searchable by the page, drawn anew only where they changed.

import { fill, h } from '../dom.js';
import { t } from '../text.js';

/**
 * A table. `columns`: `[{key, label, show(row) → node or text, number?}]`. With `pick`, rows can be chosen for bulk
 * actions: `pick(chosen rows)` is called on each change. `set(rows)` draws; rows are told apart by `id(row)`.
 */
export function table({ caption, columns, id, pick, empty }) {
  const drawn = new Map();
  const chosen = new Set();
  const body = h('tbody');
  const all = pick && h('input', { type: 'checkbox', 'aria-label': t('shell.choose_all'), onChange: () => chooseAll(all.checked) });
  const head = h('tr', {}, pick && h('th', { class: 'pick', scope: 'col' }, all),
    columns.map((column) => h('th', { scope: 'col', class: column.number ? 'number' : undefined }, column.label)));
  const nothing = h('p', { class: 'quiet' }, empty ?? t('shell.nothing'));
  const element = h('div', { class: 'table', tabindex: '0', role: 'region', 'aria-label': caption },
    h('table', {}, h('caption', { class: 'hidden' }, caption), h('thead', {}, head), body), nothing);
  let rows = [];

  const tell = () => pick?.(rows.filter((row) => chosen.has(id(row))));
  const chooseAll = (on) => {
    chosen.clear();
    if (on) for (const row of rows) chosen.add(id(row));
    for (const line of drawn.values()) if (line.box) line.box.checked = on;
    tell();
  };
  const line = (row) => {
    const key = id(row);
    const box = pick && h('input', { type: 'checkbox', 'aria-label': t('shell.choose', { id: key }), checked: chosen.has(key),
      onChange: () => { if (box.checked) chosen.add(key); else chosen.delete(key); tell(); } });
    const cells = columns.map((column) => h('td', { class: column.number ? 'number' : undefined }, column.show(row)));
    return { box, text: JSON.stringify(row), element: h('tr', {}, pick && h('td', { class: 'pick' }, box), cells) };
  };

  function set(next) {
    rows = next;
    const kept = new Set(rows.map(id));
    for (const key of [...drawn.keys()]) if (!kept.has(key)) drawn.delete(key);
    for (const key of [...chosen]) if (!kept.has(key)) chosen.delete(key);
    const lines = rows.map((row) => {
      const before = drawn.get(id(row));
      const now = before && before.text === JSON.stringify(row) ? before : line(row);
      drawn.set(id(row), now);
      return now.element;
    });
    const same = lines.length === body.children.length && lines.every((element, index) => body.children[index] === element);
    if (!same) fill(body, lines);
    nothing.hidden = rows.length > 0;
    if (all) all.checked = rows.length > 0 && chosen.size === rows.length;
    tell();
  }

  set([]);
  return { element, set, clear: () => chooseAll(false) };
}
