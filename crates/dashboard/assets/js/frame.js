// What stands around every page: navigation, how the connection stands, who is logged in.

import { logout, may, me } from './api.js';
import { fill, h, say } from './dom.js';
import { onStanding, start } from './live.js';
import { KINDS } from './parts/links.js';
import { noticeRegion } from './parts/notice.js';
import { languagePicker, themePicker } from './parts/pickers.js';
import { go, pages, startRouter } from './router.js';
import { t } from './text.js';

/** Draws the frame and the page of the address; gives back what ends it. */
export function frame(app, { changed }) {
  const main = h('main', { id: 'main', tabindex: '-1' });
  const nav = navigation();
  const standing = h('span', { class: 'standing', role: 'status' });
  fill(
    app,
    h('a', { class: 'skip', href: '#main', onClick: (event) => { event.preventDefault(); main.focus(); } }, t('shell.skip')),
    h('div', { class: 'frame' },
      h('header', { class: 'bar' },
        h('a', { class: 'brand', href: '#/overview' }, h('img', { src: '/ui/icon.svg', alt: '', width: 22, height: 22 }), 'Muster'),
        why(),
        standing,
        themePicker(),
        languagePicker(changed),
        h('span', { class: 'who' }, me.username),
        h('button', { class: 'plain', onClick: async () => { await logout(); changed(); } }, t('shell.logout'))),
      nav.element,
      main),
    noticeRegion(),
  );
  const stopStanding = onStanding((now) => {
    standing.dataset.standing = now;
    say(standing, t(`shell.standing_${now}`));
  });
  if (may.read()) start();
  const stopRouter = startRouter(main, nav.mark);
  return () => { stopStanding(); stopRouter(); };
}

function navigation() {
  const links = new Map();
  for (const page of pages) {
    if (page.allowed()) links.set(page.name, h('a', { href: `#/${page.name}` }, t(`nav.${page.name}`)));
  }
  const element = h('nav', { class: 'nav', 'aria-label': t('nav.label') }, h('ul', {}, [...links.values()].map((link) => h('li', {}, link))));
  const mark = (name) => {
    for (const [page, link] of links) {
      if (page === name) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    links.get(name)?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  };
  return { element, mark };
}

/** "Why is X not running": kind and id from anywhere. */
function why() {
  const ask = (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    if (form.get('id').trim()) go('why', form.get('kind'), form.get('id').trim());
  };
  return may.read() && h('form', { class: 'ask', role: 'search', onSubmit: ask },
    h('select', { name: 'kind', 'aria-label': t('why.kind') }, KINDS.map((kind) => h('option', { value: kind }, t(`kind.${kind}`)))),
    h('input', { name: 'id', 'aria-label': t('why.id'), placeholder: t('why.placeholder') }),
    h('button', {}, t('why.ask')));
}
