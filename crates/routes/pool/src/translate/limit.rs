//! How long and how large things from outside may be.

pub(crate) const NAME_CHARS: usize = 120;
pub(crate) const REGION_CHARS: usize = 64;
/// A key has 44 characters; a text that is no key is kept as well (P3), but it is kept in memory.
pub(crate) const PUBLIC_KEY_CHARS: usize = 1024;
pub(crate) const SLOTS: i64 = 1024;
/// Read once and kept in memory.
pub(crate) const SPECS_BYTES: usize = 64 << 10;
pub(crate) const SPECS_KEYS: usize = 256;
/// Kept in memory for every kind of job that waits.
pub(crate) const REQUIRES_BYTES: usize = 16 << 10;
pub(crate) const REASON_CHARS: usize = 1000;
pub(crate) const NONCE_CHARS: usize = 128;
pub(crate) const OUTPUT_HASH_CHARS: usize = 128;
pub(crate) const ARTIFACT_URI_CHARS: usize = 2048;
pub(crate) const WAIT_MS: i64 = 30_000;
pub(crate) const WORK_RESULTS: usize = 1000;
pub(crate) const WORK_MAX: i64 = 1000;
pub(crate) const BATCH_JOBS: usize = 1000;
pub(crate) const PRIORITY: i64 = 100;
pub(crate) const ATTEMPTS: i64 = 60;
pub(crate) const REDUNDANCY: i64 = 15;
pub(crate) const TIMEOUT_S: f64 = 30.0 * 86_400.0;
