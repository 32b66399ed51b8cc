// What is looked for on the wall: search, state, node; and what was found, as a list.

import { fill, h, say } from '../../dom.js';
import { STATES } from '../../fleet.js';
import { to } from '../../router.js';
import { number, statusWord, t } from '../../text.js';
import { isWanted, isWish } from './places.js';

const FOUND_MAX = 60;

/** Inputs for `wish`, which they change; `changed` is called then. `nodes(names)` offers the nodes there are. */
export function wishTools(wish, changed) {
  const search = h('input', { type: 'search', name: 'q', value: wish.text, placeholder: t('fleet.search'), 'aria-label': t('fleet.search'), onInput: () => { wish.text = search.value.trim(); changed(); } });
  const states = h('select', { name: 'state', 'aria-label': t('fleet.state'), onChange: () => { wish.state = states.value; changed(); } },
    h('option', { value: '' }, t('fleet.all_states')), STATES.map((state) => h('option', { value: state, selected: state === wish.state }, statusWord(state))));
  const nodes = h('select', { name: 'node', 'aria-label': t('fleet.node'), onChange: () => { wish.node = nodes.value; changed(); } });
  let drawn = null;
  const setNodes = (names) => {
    if (names.join('\n') === drawn) return;
    drawn = names.join('\n');
    fill(nodes, h('option', { value: '' }, t('fleet.all_nodes')), names.map((name) => h('option', { value: name, selected: name === wish.node }, name)));
  };
  return { element: [search, states, nodes], nodes: setNodes };
}

/** Devices that are looked for as links: for whoever reads rather than sees. */
export function foundList() {
  const count = h('p', { role: 'status' });
  const list = h('ul', { class: 'found' });
  const element = h('section', { class: 'card', 'aria-label': t('fleet.found_title'), hidden: true }, count, list);
  let drawn = '';
  const set = (fleet, wish) => {
    element.hidden = !isWish(wish);
    if (element.hidden) return;
    const devices = [...fleet.devices.values()].filter((device) => isWanted(device, wish));
    say(count, t('fleet.found', { n: devices.length }));
    const shown = devices.slice(0, FOUND_MAX);
    const now = shown.map(({ id, state }) => `${id} ${state}`).join('\n') + devices.length;
    if (now === drawn) return;
    drawn = now;
    fill(list, shown.map(({ id, state }) => h('li', {}, h('a', { href: to('fleet', 'device', id), class: 'mono' }, id), h('span', { class: 'quiet' }, statusWord(state)))),
      devices.length > shown.length && h('li', { class: 'quiet' }, t('fleet.found_more', { n: number(devices.length - shown.length) })));
  };
  return { element, set };
}
