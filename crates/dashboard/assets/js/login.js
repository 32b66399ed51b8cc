// Who are you: a name and a password, or a token.

import { login, loginWithToken } from './api.js';
import { fill, h } from './dom.js';
import { languagePicker } from './parts/pickers.js';
import { t } from './text.js';

/** Draws the login; `changed` is called when somebody is in, or the language is another. */
export function loginPage(app, { changed }) {
  document.title = `${t('login.title')} · Muster`;
  const error = h('p', { class: 'error', role: 'alert' });
  const attempt = (act) => async (event) => {
    event.preventDefault();
    fill(error);
    try {
      await act(new FormData(event.target));
      changed();
    } catch (refusal) {
      fill(error, refusal.status === 0 ? t('shell.unreachable') : refusal.status === 401 ? t('login.refused') : refusal.message);
    }
  };
  const byName = attempt((form) => login(form.get('username'), form.get('password')));
  const byToken = attempt((form) => loginWithToken(form.get('token')));
  fill(
    app,
    h('main', { class: 'login' },
      h('h1', {}, 'Muster'),
      h('p', { class: 'quiet' }, t('login.lead')),
      h('form', { onSubmit: byName, 'aria-label': t('login.by_name') },
        field('username', t('login.username'), { autocomplete: 'username', autofocus: true }),
        field('password', t('login.password'), { type: 'password', autocomplete: 'current-password' }),
        h('button', { class: 'primary' }, t('login.enter'))),
      h('details', {},
        h('summary', {}, t('login.by_token')),
        h('form', { onSubmit: byToken, 'aria-label': t('login.by_token') },
          field('token', t('login.token'), { type: 'password', autocomplete: 'off' }),
          h('p', { class: 'quiet' }, t('login.token_hint')),
          h('button', {}, t('login.enter')))),
      error,
      languagePicker(changed)),
  );
  return () => {};
}

const field = (name, label, props) =>
  h('label', { class: 'field' }, h('span', {}, label), h('input', { name, required: true, ...props }));
