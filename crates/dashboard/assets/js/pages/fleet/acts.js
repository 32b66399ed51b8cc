// What can be done with nodes, devices and workers: each asks first and says what will happen.

import { patch, post, remove } from '../../api.js';
import { h } from '../../dom.js';
import { ask, field } from '../../parts/dialog.js';
import { t } from '../../text.js';

const at = (...parts) => `/${parts.map(encodeURIComponent).join('/')}`;

export const drainNode = (node, n) => ask({
  title: t('fleet.drain_ask', { node }), what: t('fleet.drain_what', { node, n }), confirm: t('fleet.drain_confirm'), danger: true, reason: 'required',
  act: ({ reason }) => post(at('api', 'nodes', node, 'drain'), undefined, { reason }), done: t('fleet.drain_done', { node }),
});

export const resumeNode = (node) => ask({
  title: t('fleet.resume_ask', { node }), what: t('fleet.resume_what', { node }), confirm: t('fleet.resume_confirm'), reason: 'optional',
  act: ({ reason }) => post(at('api', 'nodes', node, 'resume'), undefined, { reason }), done: t('fleet.resume_done', { node }),
});

/** How many devices of a node may run at once; nothing typed means the general number. What is in force may be that one: it is only hinted at, so that nobody pins it by saving. */
export const capNode = (node, inForce) => ask({
  title: t('fleet.cap_node', { node }), what: t('fleet.cap_what', { now: inForce }), confirm: t('fleet.cap'), reason: 'optional',
  fields: [field('slots', t('fleet.cap_field'), { type: 'number', min: 1, max: 10000, placeholder: inForce })],
  act: ({ form, reason }) => patch(at('api', 'pcs', node), { max_devices: form.get('slots') ? Number(form.get('slots')) : null }, { reason }), done: t('fleet.cap_done', { node }),
});

/** Gives a node a new secret; `shown` is given the answer, whose secret nobody can see again. */
export const renewSecret = (node, shown) => {
  let answer;
  return ask({
    title: t('fleet.secret_ask', { node }), what: t('fleet.secret_what', { node }), confirm: t('fleet.secret_confirm'), danger: true, reason: 'required',
    act: async ({ reason }) => { answer = await post(at('api', 'nodes', node, 'secret'), undefined, { reason }); },
  }).then((done) => { if (done) shown(answer); return done; });
};

export const returnDevice = (device) => ask({
  title: t('fleet.return_ask', { device }), what: t('fleet.return_what'), confirm: t('fleet.return_confirm'),
  fields: [field('note', t('fleet.return_note'), { maxlength: 500, required: true })],
  act: ({ form }) => post(at('api', 'devices', device, 'return'), { note: form.get('note').trim() }), done: t('fleet.return_done', { device }),
});

/** Labels as lines of `key=value`. */
export const labelDevice = (device, labels) => ask({
  title: t('fleet.labels_device', { device }), what: t('fleet.labels_what'), confirm: t('fleet.labels_save'), reason: 'optional',
  fields: [h('label', { class: 'field' }, h('span', {}, t('fleet.labels_field')), h('textarea', { name: 'labels', rows: 5, class: 'mono', value: Object.entries(labels).map(([key, value]) => `${key}=${value}`).join('\n') }))],
  act: ({ form, reason }) => patch(at('api', 'devices', device), { labels: readLabels(form.get('labels')) }, { reason }), done: t('fleet.labels_done', { device }),
});

function readLabels(text) {
  const lines = text.split('\n').map((line) => line.trim()).filter(Boolean);
  return Object.fromEntries(lines.map((line) => {
    const [key, ...value] = line.split('=');
    if (value.length === 0) throw new Error(t('fleet.labels_wrong', { line }));
    return [key.trim(), value.join('=').trim()];
  }));
}

export const approveWorker = (worker) => ask({
  title: t('fleet.approve_ask', { worker }), what: t('fleet.approve_what'), confirm: t('fleet.approve_confirm'), reason: 'required',
  act: ({ reason }) => post(at('api', 'v1', 'workers', worker, 'approve'), { reason }), done: t('fleet.approve_done', { worker }),
});

export const quarantineWorker = (worker, n) => ask({
  title: t('fleet.quarantine_ask', { worker }), what: t('fleet.quarantine_what', { n }), confirm: t('fleet.quarantine_confirm'), danger: true, reason: 'required',
  act: ({ reason }) => post(at('api', 'v1', 'workers', worker, 'quarantine'), { reason }), done: t('fleet.quarantine_done', { worker }),
});

export const removeWorker = (worker, n) => ask({
  title: t('fleet.remove_ask', { worker }), what: t('fleet.remove_what', { n }), confirm: t('fleet.remove_confirm'), keep: t('shell.keep_it'), danger: true, reason: 'required',
  act: ({ reason }) => remove(at('api', 'v1', 'workers', worker), { reason }), done: t('fleet.remove_done', { worker }),
});

/** Removes a zombie once more: it is said to be stopped, and its answer is no longer waited for. */
export const removeZombie = (worker) => ask({
  title: t('fleet.remove_ask', { worker }), what: t('fleet.remove_zombie_what'), confirm: t('fleet.remove_confirm'), keep: t('shell.keep_it'), danger: true, reason: 'required',
  act: ({ reason }) => remove(at('api', 'v1', 'workers', worker), { reason }), done: t('fleet.remove_done', { worker }),
});

/** Of the pool: `drain`, `resume`, `ban` or `unban`. */
export const steerPoolWorker = (act, { id, name }) => ask({
  title: t(`fleet.pool_${act}_ask`, { name }), what: t(`fleet.pool_${act}_what`), confirm: t(`fleet.pool_${act}_confirm`),
  danger: act === 'ban' || act === 'drain', reason: act === 'resume' ? 'optional' : 'required',
  // The body of a ban has its reason, which the audit log would else show twice.
  act: ({ reason }) => (act.endsWith('ban') ? post(at('workers', String(id), act), { reason }) : post(at('workers', String(id), act), undefined, { reason })), done: t(`fleet.pool_${act}_done`, { name }),
});
