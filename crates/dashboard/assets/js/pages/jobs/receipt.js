// What proves a job's result, and a check of it in this very browser.

import { get, may } from '../../api.js';
import { fill, h } from '../../dom.js';
import { field, perform } from '../../parts/dialog.js';
import { placeOf } from '../../parts/links.js';
import { canCheck, checkReceipt, readSigned, signatureOf } from '../../receipt.js';
import { moment, t } from '../../text.js';

/** The receipt of a job, once it is completed. */
export function receiptPart(path, signal) {
  const facts = h('dl', { class: 'facts' });
  const found = h('div', { class: 'found', 'aria-live': 'polite' });
  const key = field('key', t('jobs.expected_key'), { autocomplete: 'off', spellcheck: 'false', class: 'mono' });
  const state = { receipt: null, job: null };
  const verify = h('button', { type: 'submit', class: 'primary' }, t('jobs.verify'));
  const save = h('button', { type: 'button', onClick: () => saveReceipt(state.receipt) }, t('jobs.save_receipt'));
  const check = (event) => {
    event.preventDefault();
    return perform(() => showChecks(found, state, key.querySelector('input').value));
  };
  const element = h('section', { class: 'card', hidden: true }, h('h2', {}, t('jobs.receipt')), h('p', { class: 'quiet' }, t('jobs.receipt_lead')), facts,
    h('form', { class: 'verify', onSubmit: check }, key, h('div', { class: 'doing' }, verify, save)), found);
  const load = async (job) => {
    if (state.receipt || job.status !== 'completed') return;
    state.job = job;
    state.receipt = await get(`${path}/receipt`, {}, signal);
    fill(facts, factsOf(state.receipt));
    if (!canCheck()) {
      verify.disabled = true;
      fill(found, insecure(state.receipt));
    }
    element.hidden = false;
  };
  return { element, load };
}

function factsOf(receipt) {
  const worker = String(receipt.worker_id);
  const facts = [
    [t('jobs.assignment'), String(receipt.assignment_id)],
    [t('kind.worker'), may.read() ? h('a', { href: placeOf('worker', worker) }, worker) : worker],
    [t('jobs.public_key'), h('code', {}, receipt.public_key)],
    [t('jobs.output_hash'), receipt.output_hash ? h('code', {}, receipt.output_hash) : t('jobs.no_hash')],
    [t('jobs.nonce'), h('code', {}, readSigned(receipt)?.nonce ?? '–')],
    [t('jobs.signature'), h('code', {}, signatureOf(receipt))],
    ...(receipt.batch ? [[t('jobs.batch'), t('jobs.batch_place', { place: receipt.batch.index + 1, count: receipt.batch.count })]] : []),
    [t('jobs.taken'), moment(receipt.finished_at)],
  ];
  return facts.map(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]);
}

async function showChecks(found, { receipt, job }, expectedKey) {
  const expected = { job_id: job.id, output_hash: job.output_hash, public_key: expectedKey.trim() || undefined };
  let checks;
  try {
    checks = await checkReceipt(receipt, expected);
  } catch (error) {
    if (error.name !== 'NotSupportedError') throw error;
    return fill(found, h('p', {}, t('jobs.no_ed25519')), command(receipt));
  }
  const isFine = checks.every(({ ok }) => ok);
  fill(found,
    h('p', { class: isFine ? 'verdict good' : 'verdict bad' }, t(isFine ? 'jobs.verified' : 'jobs.refuted')),
    h('ul', { class: 'checks-made' }, checks.map(({ name, ok }) => h('li', { class: ok ? 'good' : 'bad' },
      h('span', { class: 'sign', 'aria-hidden': 'true' }, ok ? '✓' : '✗'), h('span', { class: 'word' }, t(ok ? 'jobs.ok' : 'jobs.failed')), h('span', {}, t(`jobs.check_${name}`))))),
    isFine && h('p', { class: 'quiet' }, t(expected.public_key ? 'jobs.proves_with_key' : 'jobs.proves')));
}

/** Browsers lend their cryptography to secure pages alone. */
const insecure = (receipt) => [h('p', {}, t('jobs.insecure')), command(receipt)];

const command = (receipt) => h('pre', { tabindex: '0', 'aria-label': t('jobs.command') }, `muster job receipt ${receipt.job_id} > ${fileOf(receipt)}\nmuster receipt verify ${fileOf(receipt)}`);

const fileOf = (receipt) => `receipt-${receipt.job_id}.json`;

function saveReceipt(receipt) {
  const url = URL.createObjectURL(new Blob([`${JSON.stringify(receipt, null, 1)}\n`], { type: 'application/json' }));
  h('a', { href: url, download: fileOf(receipt) }).click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}
