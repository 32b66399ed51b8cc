// Pictures and other files that tasks left behind; each is loaded when it comes into view.

import { getBlobUrl } from '../api.js';
import { h } from '../dom.js';
import { moment, t } from '../text.js';
import { view } from './viewer.js';

const NEAR = '200px';

/** A gallery. `add(artifacts)` shows more of them, in order; `stop` lets go of what was loaded. */
export function gallery({ caption, signal }) {
  const urls = new Set();
  const list = h('ul', { class: 'gallery', 'aria-label': caption });
  const waiting = new Map();
  const observer = new IntersectionObserver((seen) => {
    for (const { target, isIntersecting } of seen) {
      if (!isIntersecting) continue;
      observer.unobserve(target);
      waiting.get(target)?.();
      waiting.delete(target);
    }
  }, { rootMargin: NEAR });

  const load = async (artifact, place) => {
    try {
      const url = await getBlobUrl(artifact.url, signal);
      urls.add(url);
      place.replaceChildren(h('img', { src: url, alt: '', decoding: 'async' }));
      place.dataset.url = url;
    } catch (error) {
      if (error.name !== 'AbortError') place.replaceChildren(h('span', { class: 'quiet' }, t('shell.gone')));
    }
  };
  const item = (artifact) => {
    const place = h('span', { class: 'picture' }, h('span', { class: 'quiet' }, wordFor(artifact)));
    const under = [h('span', { class: 'device' }, artifact.device_id), h('time', { class: 'quiet' }, moment(artifact.at))];
    if (!artifact.url) return h('li', {}, place, under);
    const name = t('shell.picture_of', { device: artifact.device_id, at: moment(artifact.at) });
    const button = h('button', { class: 'plain', 'aria-label': name, onClick: () => enlarge(artifact, place.dataset.url, signal) }, place);
    if (isPicture(artifact)) {
      waiting.set(button, () => load(artifact, place));
      observer.observe(button);
    }
    return h('li', {}, button, under);
  };
  const add = (artifacts) => list.append(...artifacts.map(item));
  const stop = () => {
    observer.disconnect();
    for (const url of urls) URL.revokeObjectURL(url);
  };
  return { element: list, add, stop };
}

/** What stands in the place of a picture until, or unless, there is one. */
function wordFor(artifact) {
  if (!artifact.url) return t('shell.elsewhere');
  return isPicture(artifact) ? '…' : artifact.kind;
}

/** Whether a file can be shown as a picture: by its type; where none is known, by what it is or is called. */
export const isPicture = ({ content_type: type, path, kind }) => (type ? type.startsWith('image/') : kind === 'screenshot' || /\.(png|jpe?g|webp|gif)$/i.test(path));

/** Shows a picture in its own size; other files can be saved. */
async function enlarge(artifact, loaded, signal) {
  const content = h('figure', { class: 'enlarged' }, h('p', { class: 'quiet' }, t('shell.loading')));
  let own;
  view({ title: artifact.device_id, content, wide: true, closed: () => own && URL.revokeObjectURL(own) });
  try {
    const url = loaded ?? (own = await getBlobUrl(artifact.url, signal));
    const file = artifact.path.split('/').at(-1);
    content.replaceChildren(
      isPicture(artifact) ? h('img', { src: url, alt: t('shell.picture_of', { device: artifact.device_id, at: moment(artifact.at) }) }) : '',
      h('figcaption', {}, h('time', {}, moment(artifact.at)), h('code', {}, artifact.path), h('a', { href: url, download: file }, t('shell.save'))));
  } catch (error) {
    if (error.name !== 'AbortError') content.replaceChildren(h('p', { class: 'error', role: 'alert' }, error.message));
  }
}
