// Starts the page: a login, then the frame with its navigation and one page at a time.

import { me, resume, whenLoggedOut } from './api.js';
import { frame } from './frame.js';
import { stop } from './live.js';
import { loginPage } from './login.js';
import { loadLanguage } from './text.js';
import { applyTheme } from './theme.js';

const app = document.getElementById('app');
let close = () => {};

async function start() {
  applyTheme();
  await loadLanguage();
  await resume();
  whenLoggedOut(show);
  show();
}

/** Draws what belongs to the login as it stands; also after a change of language. */
function show() {
  close();
  if (!me) stop();
  close = me ? frame(app, { changed: show }) : loginPage(app, { changed: show });
}

start();
