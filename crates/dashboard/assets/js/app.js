// Starts the page: a login, then the frame with its navigation and one page at a time.

import { me, resume, whenLoggedOut } from './api.js';
import { fill, h } from './dom.js';
import { frame } from './frame.js';
import { stop } from './live.js';
import { loginPage } from './login.js';
import { closeDialogs } from './parts/dialog.js';
import { passingText } from './parts/notice.js';
import { loadLanguage, t } from './text.js';
import { applyTheme } from './theme.js';

const app = document.getElementById('app');
const AGAIN_MS = 3000;
let close = () => {};

async function start() {
  applyTheme();
  await loadLanguage();
  await takeUp();
  whenLoggedOut(show);
  show();
}

/** Takes up the login of this tab, as soon as the server answers: that it does not is no logout. */
async function takeUp() {
  for (;;) {
    try {
      return await resume();
    } catch (error) {
      await waiting(error);
    }
  }
}

/** Says that the server is asked again, until it is time or somebody wants it now. */
function waiting(error) {
  document.title = 'Muster';
  return new Promise((done) => {
    const text = passingText(error);
    // A line that says the same is left alone, and so are its button and whoever is about to press it.
    if (app.querySelector('[role=status]')?.textContent !== text) {
      fill(app, h('main', { class: 'login' }, h('h1', {}, 'Muster'), h('p', { role: 'status' }, text), h('button', {}, t('shell.try_now'))));
    }
    const timer = setTimeout(done, AGAIN_MS);
    app.querySelector('button').onclick = () => { clearTimeout(timer); done(); };
  });
}

/** Draws what belongs to the login as it stands; also after a change of language. */
function show() {
  close();
  closeDialogs();
  if (!me) stop();
  close = me ? frame(app, { changed: show }) : loginPage(app, { changed: show });
}

start();
