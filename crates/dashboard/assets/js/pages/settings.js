// The configuration in force: what every value is, where it came from, what it would be otherwise.

import { get } from '../api.js';
import { fill, h } from '../dom.js';
import { table } from '../parts/table.js';
import { pieces, t } from '../text.js';

export async function open({ root, title, signal }) {
  const search = h('input', { type: 'search', name: 'search', 'aria-label': t('settings.search'), placeholder: t('settings.search'), onInput: () => draw() });
  const changed = h('input', { type: 'checkbox', name: 'changed', onChange: () => draw() });
  const count = h('span', { class: 'quiet', role: 'status' });
  const list = settingTable();
  let settings = [];
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const shown = settings.filter((setting) => (!changed.checked || isChanged(setting)) && textOf(setting).includes(wanted));
    list.set(shown);
    fill(count, t('settings.count', { n: shown.length, changed: settings.filter(isChanged).length }));
  };
  fill(root, title(t('nav.settings')),
    h('p', { class: 'quiet' }, pieces('settings.lead', { variable: h('code', {}, 'MUSTER_SECTION__KEY'), file: h('code', {}, 'muster.toml'), command: h('code', {}, 'muster config') })),
    h('div', { class: 'tools' }, search, h('label', { class: 'check' }, changed, t('settings.only_changed')), count),
    h('div', { class: 'settings' }, list.element));
  ({ settings } = await get('/api/settings', {}, signal));
  draw();
}

const isChanged = ({ from }) => from !== 'default';
const variableOf = ({ name }) => `MUSTER_${name.replaceAll('.', '__').toUpperCase()}`;
const written = (value) => (typeof value === 'string' ? value : JSON.stringify(value));
const textOf = (setting) => `${setting.name} ${written(setting.value)} ${setting.from} ${variableOf(setting)}`.toLowerCase();

function settingTable() {
  return table({
    caption: t('nav.settings'),
    id: ({ name }) => name,
    columns: [
      { label: t('settings.name'), show: (setting) => [h('code', { class: isChanged(setting) ? 'strong' : undefined }, setting.name), h('div', { class: 'quiet variable' }, h('code', {}, variableOf(setting)))] },
      { label: t('settings.value'), show: (setting) => value(setting) },
      { label: t('settings.from'), show: from },
      { label: t('settings.default'), show: (setting) => h('code', { class: 'quiet' }, shown(setting.default)) },
    ],
  });
}

const shown = (value) => (value === '' || value === null || value === undefined ? t('settings.empty') : written(value));

function value(setting) {
  const text = h('code', { class: isChanged(setting) ? 'strong' : undefined }, shown(setting.value));
  return isChanged(setting) ? [text, ' ', h('span', { class: 'badge busy' }, t('settings.changed'))] : text;
}

/** `default`, or a kind and a name such as `file /etc/muster.toml`. */
function from(setting) {
  const [kind, ...rest] = setting.from.split(' ');
  const name = h('code', {}, rest.join(' '));
  if (kind === 'file') return pieces('settings.from_file', { name });
  if (kind === 'environment') return pieces('settings.from_environment', { name });
  if (kind === 'flag') return pieces('settings.from_flag', { name });
  return h('span', { class: 'quiet' }, t('settings.from_default'));
}
