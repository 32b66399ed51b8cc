// Checks a receipt of the pool: that the worker's key signed exactly what the receipt says, alone or in a batch. No page, no network.

const ASSIGNMENTS_PER_JOB = 64;
const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const FIELDS = { assignment_id: isId, job_id: isId, worker_id: isId, public_key: isText, signed_bytes: isText, signature: isTextOrNull, output_hash: isTextOrNull, finished_at: isText };
const BATCH_FIELDS = { count: isCount, index: isCount, path: (value) => Array.isArray(value) && value.every(isHash), root: isHash, signature: isText };

/** The checks in the order in which they are made. Each that is made is told as `{name, ok}`; after the first that fails no other is made. */
export const CHECKS = ['fields', 'encoding', 'form', 'assignment', 'output_hash', 'job', 'key', 'expected_key', 'batch', 'signature'];

/** Whether this browser can check at all: it can on https and on localhost, not on plain http from another host. */
export const canCheck = () => Boolean(globalThis.crypto?.subtle);

/**
 * Checks a receipt. `expected`: what is known from elsewhere, each where known: `{job_id, output_hash, public_key}`. Throws
 * what WebCrypto throws where it does not know Ed25519.
 */
export async function checkReceipt(receipt, expected = {}, subtle = globalThis.crypto.subtle) {
  const done = [];
  for (const name of CHECKS) {
    if ((name === 'expected_key' && !expected.public_key) || (name === 'batch' && !receipt.batch)) continue;
    const ok = await MADE[name](receipt, expected, subtle);
    done.push({ name, ok });
    if (!ok) break;
  }
  return done;
}

const MADE = {
  fields: (receipt) => {
    if (!isObject(receipt)) return false;
    const { batch, ...rest } = receipt;
    const isBatch = batch !== undefined;
    return hasExactly(rest, FIELDS) && isBatch === (rest.signature === null) && (!isBatch || (isObject(batch) && hasExactly(batch, BATCH_FIELDS)));
  },
  encoding: (receipt) => decode(receipt.signed_bytes) !== null,
  form: (receipt) => readSigned(receipt) !== null,
  assignment: (receipt) => readSigned(receipt).assignment_id === receipt.assignment_id,
  output_hash: (receipt, expected) => readSigned(receipt).output_hash === receipt.output_hash
    && (expected.output_hash === undefined || expected.output_hash === receipt.output_hash),
  job: ({ assignment_id: assignment, job_id: job }, expected) => Math.floor(assignment / ASSIGNMENTS_PER_JOB) === job
    && assignment % ASSIGNMENTS_PER_JOB !== 0 && (expected.job_id === undefined || expected.job_id === job),
  key: (receipt) => decode(receipt.public_key)?.length === KEY_BYTES,
  expected_key: (receipt, expected) => sameBytes(decode(receipt.public_key), decode(expected.public_key.trim())),
  batch: async ({ signed_bytes: signed, batch }, _, subtle) => await rootOf(decode(signed), batch, subtle) === batch.root,
  signature: async (receipt, _, subtle) => {
    const signature = decode(signatureOf(receipt));
    if (signature?.length !== SIGNATURE_BYTES) return false;
    const key = await readKey(decode(receipt.public_key), subtle);
    return key !== null && subtle.verify('Ed25519', key, signature, covered(receipt));
  },
};

/** The signature of a receipt: its own, or that of its batch. */
export const signatureOf = ({ signature, batch }) => signature ?? batch.signature;

/** The bytes that the signature covers. The fields of a batch stand in the order of canonical JSON. */
function covered({ signed_bytes: signed, worker_id, batch }) {
  return batch ? new TextEncoder().encode(JSON.stringify({ count: batch.count, root: batch.root, worker_id })) : decode(signed);
}

/** The root of the Merkle tree (RFC 6962) to which a path leads from its leaf; null where the path has another length. */
async function rootOf(data, { count, index, path }, subtle) {
  if (index >= count) return null;
  const hash = async (...parts) => new Uint8Array(await subtle.digest('SHA-256', new Uint8Array(parts.flatMap((part) => [...part]))));
  const rest = path.map(unhex);
  let node = await hash([0], data);
  for (let place = index, last = count - 1; last > 0; place = Math.floor(place / 2), last = Math.floor(last / 2)) {
    if (place % 2 === 0 && place === last) continue;
    const neighbour = rest.shift();
    if (!neighbour) return null;
    node = place % 2 === 1 ? await hash([1], neighbour, node) : await hash([1], node, neighbour);
  }
  return rest.length === 0 ? hex(node) : null;
}

const hex = (bytes) => [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
const unhex = (digits) => digits.match(/../g).map((pair) => parseInt(pair, 16));
const hasExactly = (object, fields) => Object.keys(object).length === Object.keys(fields).length
  && Object.entries(fields).every(([name, holds]) => Object.hasOwn(object, name) && holds(object[name]));

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
function isTextOrNull(value) { return value === null || isText(value); }
function isCount(value) { return Number.isSafeInteger(value) && value >= 0; }
function isHash(value) { return isText(value) && /^[0-9a-f]{64}$/.test(value); }
function isObject(value) { return typeof value === 'object' && value !== null && !Array.isArray(value); }
