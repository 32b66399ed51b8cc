// A new job for the pool.

import { post } from '../../api.js';
import { h } from '../../dom.js';
import { onceKey } from '../../parts/act_button.js';
import { ask, field } from '../../parts/dialog.js';
import { readJson, readNumber } from '../../parts/fields.js';
import { area } from '../../parts/form.js';
import { go } from '../../router.js';
import { t } from '../../text.js';

/** Asks for a job and opens it. */
export async function newJob() {
  const once = onceKey();
  let made;
  const count = (name, props) => field(name, t(`jobs.${name}`), { type: 'number', ...props });
  const isDone = await ask({
    title: t('jobs.new'), confirm: t('jobs.start'), done: t('jobs.started'),
    fields: [
      area('payload', t('jobs.payload_json'), { class: 'mono', required: true, rows: 4, value: '{"op": "sum", "values": [1, 2, 39]}' }),
      h('div', { class: 'side' }, count('priority', { min: 0, max: 100, placeholder: '0' }), count('redundancy', { min: 1, max: 15, placeholder: '1' }), count('max_attempts', { min: 1, max: 60 })),
      h('div', { class: 'side' }, field('region', t('jobs.region'), { maxlength: 64 }), count('timeout_s', { min: 0.001, max: 2592000, step: 'any' })),
      area('requires', t('jobs.requires'), { class: 'mono', rows: 2, placeholder: '{"gpu": true}' }),
      h('label', { class: 'tick' }, h('input', { type: 'checkbox', name: 'verify' }), h('span', {}, t('jobs.verify_hash'))),
    ],
    act: async ({ form }) => { made = await post('/jobs', read(form), { once }); },
  });
  if (isDone) go('jobs', made.id);
}

const read = (form) => ({
  payload: readJson(form, 'payload', t('jobs.payload_json')),
  priority: readNumber(form, 'priority'),
  redundancy: readNumber(form, 'redundancy'),
  max_attempts: readNumber(form, 'max_attempts'),
  timeout_s: readNumber(form, 'timeout_s'),
  region: form.get('region').trim() || undefined,
  requires: readJson(form, 'requires', t('jobs.requires')),
  verify_output_hash: form.get('verify') ? true : undefined,
});
