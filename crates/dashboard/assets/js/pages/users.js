// Who may do what, and the caller's own API keys.

import { may, me, patch, post } from '../api.js';
import { fill, h } from '../dom.js';
import { badge } from '../parts/badge.js';
import { ask, field } from '../parts/dialog.js';
import { checks, hinted } from '../parts/form.js';
import { firstOf } from '../parts/pages.js';
import { table } from '../parts/table.js';
import { moment, t } from '../text.js';
import { ownKeys } from './users/keys.js';

const ROLES = ['VIEWER', 'OPERATOR', 'ADMIN', 'CLIENT', 'WORKER_OWNER'];
const USERS_MAX = 5000;

export async function open({ root, title, signal }) {
  const keys = ownKeys(signal);
  if (!may.administer()) {
    fill(root, title(t('nav.users')), keys.element);
    return keys.load();
  }
  const search = h('input', { type: 'search', name: 'search', 'aria-label': t('shell.search'), placeholder: t('shell.search'), onInput: () => draw() });
  let users = [];
  const load = async () => {
    users = (await firstOf('/users', {}, { name: 'users', most: USERS_MAX, signal })).items;
    draw();
  };
  const list = userTable(load);
  const draw = () => list.set(users.filter((user) => matches(user, search.value.trim().toLowerCase())));
  fill(root, title(t('nav.users')),
    h('p', { class: 'quiet' }, t('users.lead')),
    h('div', { class: 'tools' }, h('button', { class: 'primary', onClick: () => add(load) }, t('users.add')), search),
    list.element,
    h('details', { class: 'card' }, h('summary', {}, t('users.roles_title')), h('dl', { class: 'facts' }, ROLES.flatMap((role) => [h('dt', {}, h('code', {}, role)), h('dd', {}, t(`users.role_${role}`))]))),
    keys.element);
  await Promise.all([load(), keys.load()]);
}

const matches = (user, wanted) => `${user.username} ${user.roles.join(' ')}`.toLowerCase().includes(wanted);

function userTable(load) {
  return table({
    caption: t('nav.users'),
    id: (user) => user.username,
    columns: [
      { label: t('users.name'), show: ({ username }) => (username === me.username ? [username, ' ', h('span', { class: 'quiet' }, t('users.you'))] : username) },
      { label: t('users.roles'), show: ({ roles }) => (roles.length ? roles.map((role) => [h('code', { class: 'role' }, role), ' ']) : h('span', { class: 'quiet' }, t('users.no_roles'))) },
      { label: t('shell.filter_status'), show: ({ active }) => badge(active ? 'active' : 'inactive') },
      { label: t('users.since'), show: ({ created_at: at }) => h('time', { datetime: at }, moment(at)) },
      { label: t('users.acts'), show: (user) => acts(user, load) },
    ],
  });
}

const path = ({ username }) => `/users/${encodeURIComponent(username)}`;
const roleChecks = (held = []) => checks('roles', t('users.roles'), ROLES.map((role) => [role, role, held.includes(role)]));
const newPassword = () => hinted(field('password', t('users.password'), { type: 'password', required: true, autocomplete: 'new-password' }), t('users.password_hint'));

function acts(user, load) {
  const name = user.username;
  const then = (asked) => async () => { if (await ask(asked())) await load().catch(() => {}); };
  const button = (label, asked, danger) => h('button', { class: danger ? 'danger' : undefined, 'aria-label': t('users.act_on', { act: label, name }), onClick: then(asked) }, label);
  return h('span', { class: 'row-acts' },
    button(t('users.change_roles'), () => changeRoles(user)),
    button(t('users.change_password'), () => changePassword(user)),
    user.active ? button(t('users.deactivate'), () => setActive(user, false), true) : button(t('users.activate'), () => setActive(user, true)));
}

const changeRoles = (user) => ({
  title: t('users.roles_of', { name: user.username }),
  what: t('users.roles_what'),
  confirm: t('users.change_roles'),
  reason: 'required',
  fields: [roleChecks(user.roles)],
  act: ({ reason, form }) => patch(path(user), { roles: form.getAll('roles') }, { reason }),
  done: t('users.changed', { name: user.username }),
});

const changePassword = (user) => ({
  title: t('users.password_of', { name: user.username }),
  what: t('users.password_what'),
  confirm: t('users.change_password'),
  reason: 'optional',
  fields: [newPassword()],
  act: ({ reason, form }) => patch(path(user), { password: form.get('password') }, { reason }),
  done: t('users.changed', { name: user.username }),
});

const setActive = (user, active) => ({
  title: t(active ? 'users.activate_title' : 'users.deactivate_title', { name: user.username }),
  what: t(active ? 'users.activate_what' : 'users.deactivate_what'),
  confirm: t(active ? 'users.activate_confirm' : 'users.deactivate_confirm'),
  danger: !active,
  reason: 'required',
  act: ({ reason }) => patch(path(user), { active }, { reason }),
  done: t('users.changed', { name: user.username }),
});

async function add(load) {
  const made = await ask({
    title: t('users.add_title'),
    confirm: t('users.add'),
    reason: 'optional',
    fields: [field('username', t('users.name'), { required: true, autocomplete: 'off' }), newPassword(), roleChecks()],
    act: ({ reason, form }) => post('/users', { username: form.get('username').trim(), password: form.get('password'), roles: form.getAll('roles') }, { reason }),
    done: t('users.added'),
  });
  if (made) await load().catch(() => {});
}
