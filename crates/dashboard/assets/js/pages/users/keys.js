// The caller's own API keys: make one (shown once), list, take back.

import { me, post, remove } from '../../api.js';
import { h } from '../../dom.js';
import { badge } from '../../parts/badge.js';
import { ask, field } from '../../parts/dialog.js';
import { checks } from '../../parts/form.js';
import { firstOf } from '../../parts/pages.js';
import { showSecret } from '../../parts/secret.js';
import { table } from '../../parts/table.js';
import { ago, moment, t } from '../../text.js';

const KEYS_MAX = 5000;

/** A section with the keys; `load` fetches them. */
export function ownKeys(signal) {
  const load = async () => list.set((await firstOf('/api-keys', {}, { name: 'api_keys', most: KEYS_MAX, signal })).items.reverse());
  const list = keyTable(load);
  const element = h('section', {},
    h('h2', {}, t('users.keys')),
    h('p', { class: 'quiet' }, t('users.keys_lead')),
    h('div', { class: 'tools' }, h('button', { onClick: () => make(load) }, t('users.key_add'))),
    list.element);
  return { element, load };
}

function keyTable(load) {
  return table({
    caption: t('users.keys'),
    empty: t('users.keys_none'),
    id: (key) => key.id,
    columns: [
      { label: t('users.key_name'), show: ({ name }) => name },
      { label: t('users.key_prefix'), show: ({ prefix }) => h('code', {}, `${prefix}…`) },
      { label: t('users.key_scopes'), show: ({ scopes }) => (scopes ? scopes.map((role) => [h('code', { class: 'role' }, role), ' ']) : t('users.key_all')) },
      { label: t('users.key_made'), show: ({ created_at: at }) => h('time', { datetime: at }, moment(at)) },
      { label: t('users.key_used'), show: ({ last_used_at: at }) => (at ? h('time', { datetime: at, title: moment(at) }, ago(at)) : t('users.key_unused')) },
      { label: t('users.acts'), show: (key) => (key.revoked_at ? badge('retired') : revokeButton(key, load)) },
    ],
  });
}

function revokeButton(key, load) {
  const revoke = async () => {
    const gone = await ask({
      title: t('users.key_revoke_title', { name: key.name }),
      what: t('users.key_revoke_what'),
      confirm: t('users.key_revoke_confirm'),
      keep: t('shell.keep_it'),
      danger: true,
      reason: 'required',
      act: ({ reason }) => remove(`/api-keys/${key.id}`, { reason }),
      done: t('users.key_revoked'),
    });
    if (gone) await load().catch(() => {});
  };
  const label = t('users.key_revoke');
  return h('span', { class: 'row-acts' }, h('button', { class: 'danger', 'aria-label': t('users.act_on', { act: label, name: key.name }), onClick: revoke }, label));
}

async function make(load) {
  let key;
  const made = await ask({
    title: t('users.key_add_title'),
    what: t('users.key_add_what'),
    confirm: t('users.key_add'),
    fields: [
      field('name', t('users.key_name'), { required: true, maxlength: 120, autocomplete: 'off' }),
      checks('scopes', t('users.key_scopes'), me.roles.map((role) => [role, role, true])),
    ],
    act: async ({ form }) => {
      const scopes = form.getAll('scopes');
      // All roles: the key follows whatever its user may do later, so no list is given.
      const answer = await post('/api-keys', { name: form.get('name').trim(), scopes: scopes.length === me.roles.length ? undefined : scopes });
      key = answer.key;
    },
  });
  if (!made) return;
  await load().catch(() => {});
  await showSecret({ title: t('users.key_shown'), what: t('users.key_shown_what'), label: t('users.key_itself'), secret: key });
}
