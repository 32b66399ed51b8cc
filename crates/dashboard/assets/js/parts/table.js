// Rows of facts: sortable by nobody, searchable by the page, drawn anew only where they changed.

import { h } from '../dom.js';
import { t } from '../text.js';

/**
 * A table. `columns`: `[{key, label, show(row) → node or text, number?}]`. With `pick`, rows can be chosen for bulk
 * actions: `pick(chosen rows)` is called on each change. `set(rows)` draws; rows are told apart by `id(row)`. What a cell
 * does when it is used may depend on what it shows and on the row's id alone: a cell that looks the same stays.
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
  const cellsOf = (row) => columns.map((column) => h('td', { class: column.number ? 'number' : undefined }, column.show(row)));
  const line = (row) => {
    const key = id(row);
    const box = pick && h('input', { type: 'checkbox', 'aria-label': t('shell.choose', { id: key }), checked: chosen.has(key),
      onChange: () => { if (box.checked) chosen.add(key); else chosen.delete(key); tell(); } });
    const cells = cellsOf(row);
    return { box, cells, text: JSON.stringify(row), element: h('tr', {}, pick && h('td', { class: 'pick' }, box), cells) };
  };
  /** Only cells that look different are replaced: whoever stands on a link or a box with the keyboard stays there. */
  const renew = (known, row) => {
    known.text = JSON.stringify(row);
    cellsOf(row).forEach((cell, index) => {
      if (known.cells[index].isEqualNode(cell)) return;
      known.cells[index].replaceWith(cell);
      known.cells[index] = cell;
    });
  };

  function set(next) {
    rows = next;
    const kept = new Set(rows.map(id));
    for (const [key, gone] of [...drawn]) {
      if (kept.has(key)) continue;
      drawn.delete(key);
      chosen.delete(key);
      gone.element.remove();
    }
    rows.forEach((row, place) => {
      const known = drawn.get(id(row)) ?? line(row);
      if (known.text !== JSON.stringify(row)) renew(known, row);
      drawn.set(id(row), known);
      if (body.children[place] !== known.element) body.insertBefore(known.element, body.children[place] ?? null);
    });
    nothing.hidden = rows.length > 0;
    if (all) all.checked = rows.length > 0 && chosen.size === rows.length;
    tell();
  }

  set([]);
  return { element, set, clear: () => chooseAll(false) };
}
