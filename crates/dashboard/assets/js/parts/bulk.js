// Acts upon many things at once: what is chosen, what can be done with it, and how it went.

import { fill, h, say } from '../dom.js';
import { t } from '../text.js';
import { complaint, notice } from './notice.js';

const AT_ONCE = 4;

/**
 * The bar that appears while something is chosen. `actions`: `[{label, danger?, allowed?, why?, act(chosen)}]`; `allowed(chosen)`
 * says whether it makes sense now, `why` why it does not. Without actions there is no bar, and nothing to choose for: `set` is undefined.
 */
export function bulkBar(actions) {
  if (!actions) return { element: null, set: undefined };
  let chosen = [];
  const count = h('span', { class: 'count', role: 'status' });
  const buttons = actions.map((action) => h('button', { class: action.danger ? 'danger' : undefined, onClick: () => action.act(chosen) }, action.label));
  const element = h('div', { class: 'bulk', hidden: true }, count, buttons);
  const set = (next) => {
    chosen = next;
    element.hidden = chosen.length === 0;
    say(count, t('shell.chosen', { n: chosen.length }));
    actions.forEach((action, place) => {
      const can = !action.allowed || action.allowed(chosen);
      buttons[place].disabled = !can;
      buttons[place].title = can ? '' : action.why ?? '';
    });
  };
  return { element, set };
}

/** Does the same to each, a few at once, and tells how many went well; the first refusal is told in its own words. */
export async function forEach(items, act, told) {
  const left = [...items];
  const errors = [];
  let done = 0;
  const work = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) {
      try {
        await act(item);
        done++;
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  if (done) notice(told(done));
  if (errors.length) complaint(new Error(t('shell.some_refused', { n: errors.length, error: errors[0].message })));
}

/** Replaces what is in an element by a list of names, the first few of many. */
export function naming(names, most = 5) {
  const rest = names.length - most;
  return fill(h('ul', { class: 'names' }), names.slice(0, most).map((name) => h('li', {}, name)), rest > 0 && h('li', { class: 'quiet' }, t('shell.and_more', { n: rest })));
}
