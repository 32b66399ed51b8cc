// Checks a receipt of the pool: that the worker's key signed exactly what the receipt says. No page, no network.

const ASSIGNMENTS_PER_JOB = 64;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const FIELDS = { assignment_id: isId, job_id: isId, worker_id: isId, public_key: isText, signed_bytes: isText, signature: isText, output_hash: (value) => value === null || isText(value), finished_at: isText };

/** The checks in the order in which they are made. Each that is made is told as `{name, ok}`; after the first that fails no other is made. */
export const CHECKS = ['fields', 'encoding', 'form', 'assignment', 'output_hash', 'job', 'key', 'expected_key', 'signature'];

/** Whether this browser can check at all: it can on https and on localhost, not on plain http from another host. */
export const canCheck = () => Boolean(globalThis.crypto?.subtle);

/**
 * Checks a receipt. `expected`: what is known from elsewhere, each where known: `{job_id, output_hash, public_key}`. Throws
 * what WebCrypto throws where it does not know Ed25519.
 */
export async function checkReceipt(receipt, expected = {}, subtle = globalThis.crypto.subtle) {
  const done = [];
  for (const name of CHECKS) {
    if (name === 'expected_key' && !expected.public_key) continue;
    const ok = await MADE[name](receipt, expected, subtle);
    done.push({ name, ok });
    if (!ok) break;
  }
  return done;
}

const MADE = {
  fields: (receipt) => isObject(receipt) && Object.keys(receipt).length === Object.keys(FIELDS).length
    && Object.entries(FIELDS).every(([name, holds]) => Object.hasOwn(receipt, name) && holds(receipt[name])),
  encoding: (receipt) => decode(receipt.signed_bytes) !== null,
  form: (receipt) => readSigned(receipt) !== null,
  assignment: (receipt) => readSigned(receipt).assignment_id === receipt.assignment_id,
  output_hash: (receipt, expected) => readSigned(receipt).output_hash === receipt.output_hash
    && (expected.output_hash === undefined || expected.output_hash === receipt.output_hash),
  job: ({ assignment_id: assignment, job_id: job }, expected) => Math.floor(assignment / ASSIGNMENTS_PER_JOB) === job
    && assignment % ASSIGNMENTS_PER_JOB !== 0 && (expected.job_id === undefined || expected.job_id === job),
  key: (receipt) => decode(receipt.public_key)?.length === KEY_BYTES,
  expected_key: (receipt, expected) => sameBytes(decode(receipt.public_key), decode(expected.public_key.trim())),
  signature: async (receipt, _, subtle) => {
    const signature = decode(receipt.signature);
    if (signature?.length !== SIGNATURE_BYTES) return false;
    const key = await readKey(decode(receipt.public_key), subtle);
    return key !== null && subtle.verify('Ed25519', key, signature, decode(receipt.signed_bytes));
  },
};

/** A key that is no point of the curve is refused by some browsers here already, as data. */
async function readKey(bytes, subtle) {
  try {
    return await subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
  } catch (error) {
    if (error.name === 'DataError') return null;
    throw error;
  }
}

/** The three fields that a worker signs, if these bytes are their one canonical form. */
export function readSigned({ signed_bytes: encoded }) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(decode(encoded));
    const { assignment_id, nonce, output_hash } = JSON.parse(text);
    const canonical = JSON.stringify({ assignment_id, nonce, output_hash });
    const holds = isId(assignment_id) && isText(nonce) && (output_hash === null || isText(output_hash));
    return holds && canonical === text ? { assignment_id, nonce, output_hash } : null;
  } catch {
    return null;
  }
}

/** Bytes from base64url, its padding optional; null where it is not the one way to write them. */
export function decode(text) {
  const bare = text.replace(/={1,2}$/, '');
  if (!/^[A-Za-z0-9_-]*$/.test(bare) || (bare !== text && text.length % 4 !== 0)) return null;
  try {
    const bytes = Uint8Array.from(atob(bare.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
    return encode(bytes) === bare ? bytes : null;
  } catch {
    return null;
  }
}

const encode = (bytes) => btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

const sameBytes = (one, other) => Boolean(one && other) && one.length === other.length && one.every((byte, place) => byte === other[place]);

function isId(value) { return Number.isSafeInteger(value) && value > 0; }
function isText(value) { return typeof value === 'string'; }
function isObject(value) { return typeof value === 'object' && value !== null && !Array.isArray(value); }
