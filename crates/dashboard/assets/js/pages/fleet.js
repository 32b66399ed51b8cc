// The fleet: the wall of devices, workers of sessions, workers of the pool; and one of each in detail.

import { may } from '../api.js';
import { fill, h } from '../dom.js';
import { to } from '../router.js';
import { t } from '../text.js';
import { devicePage } from './fleet/device.js';
import { nodePage } from './fleet/node.js';
import { poolWorkers } from './fleet/pool.js';
import { simWorkers } from './fleet/sim.js';
import { wall } from './fleet/wall.js';
import { workerPage } from './fleet/worker.js';

const DETAILS = { device: devicePage, node: nodePage, worker: workerPage };
const TABS = { devices: wall, sim: simWorkers, pool: poolWorkers };

/** Who owns workers and may read nothing else has these alone. */
const OWNED = ['pool'];

export async function open(context) {
  const { args: [kind, id], query, root, title } = context;
  if (id && may.read() && Object.hasOwn(DETAILS, kind)) return DETAILS[kind](id, context);
  const names = may.read() ? Object.keys(TABS) : OWNED;
  const asked = query.get('tab');
  const tab = names.includes(asked) ? asked : names[0];
  const content = h('div');
  fill(root, title(t('nav.fleet')), tabs(names, tab), content);
  return TABS[tab](content, context);
}

function tabs(names, current) {
  return h('nav', { class: 'tabs', 'aria-label': t('fleet.tabs') }, names.map((name) =>
    h('a', { href: name === 'devices' ? to('fleet') : `${to('fleet')}?tab=${name}`, 'aria-current': name === current ? 'page' : undefined }, t(`fleet.tab_${name}`))));
}
