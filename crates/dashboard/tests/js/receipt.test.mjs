// P17, P20: what the command line finds about the vectors, the page finds as well.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { checkReceipt, decode } from '../../assets/js/receipt.js';

const VECTORS = new URL('../../../../docs/vectors/receipts/', import.meta.url);
const read = (name) => JSON.parse(readFileSync(new URL(name, VECTORS), 'utf8'));
const FAILS_AT = {
  'no receipt': 'fields', encoding: 'encoding', form: 'form', assignment: 'assignment', 'output hash': 'output_hash', job: 'job',
  key: 'key', path: 'batch', 'other key': 'expected_key', 'expected key': 'expected_key', signature: 'signature', invalid: 'signature',
};
// JSON.parse takes a field that stands twice; the server writes no such receipt.
const TAKEN = ['field_twice.json'];

for (const { file, key, outcome } of read('index.json')) {
  if (TAKEN.includes(file)) continue;
  test(`P17, P20: ${file} with key ${key}: ${outcome}`, async () => {
    const checks = await checkReceipt(read(file), { public_key: key ?? undefined });
    const failed = checks.find(({ ok }) => !ok);
    if (outcome === 'verified') assert.equal(failed, undefined);
    else assert.equal(failed?.name, FAILS_AT[outcome]);
  });
}

test('P17: a receipt of another job, or of another output, is refused', async () => {
  const receipt = read('valid.json');
  const last = async (expected) => (await checkReceipt(receipt, expected)).at(-1);
  assert.deepEqual(await last({ job_id: 3 }), { name: 'job', ok: false });
  assert.deepEqual(await last({ output_hash: 'other' }), { name: 'output_hash', ok: false });
  assert.deepEqual(await last({ job_id: 2, output_hash: receipt.output_hash }), { name: 'signature', ok: true });
});

test('bytes have one way to be written', () => {
  assert.deepEqual([...decode('_-8')], [255, 239]);
  for (const other of ['_-9', '/+8', '_-8==', '_', 'a b', '_-8\n']) assert.equal(decode(other), null, other);
});
