// "Why?" beside everything that may wait.

import { may } from '../api.js';
import { h } from '../dom.js';
import { t } from '../text.js';
import { whyLink } from './links.js';

/** A link to the explanation of a thing; `name` tells several of them apart for whoever hears the page. */
export const why = (kind, id, name = id) => may.read() && whyLink(kind, id, h('span', {}, t('why.ask'), h('span', { class: 'hidden' }, ` ${name}`)));
