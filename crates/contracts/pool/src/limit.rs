//! Upper limits of what a request may contain.
#![allow(missing_docs, reason = "the constants are named for what they limit")]

/// The largest id: what JavaScript can count to.
pub const ID: i64 = (1 << 53) - 1;
pub const NAME_CHARS: usize = 120;
pub const REGION_CHARS: usize = 64;
/// A key has 44 characters; a text that is no key is kept as well (P3), but it is kept in memory.
pub const PUBLIC_KEY_CHARS: usize = 1024;
pub const SLOTS: i64 = 1024;
/// Read once and kept in memory.
pub const SPECS_BYTES: usize = 64 << 10;
pub const SPECS_KEYS: usize = 256;
/// Kept in memory for every kind of job that waits.
pub const REQUIRES_BYTES: usize = 16 << 10;
pub const REASON_CHARS: usize = 1000;
pub const NONCE_CHARS: usize = 128;
pub const OUTPUT_HASH_CHARS: usize = 128;
pub const ARTIFACT_URI_CHARS: usize = 2048;
pub const WAIT_MS: i64 = 30_000;
pub const WORK_RESULTS: usize = 1000;
pub const WORK_MAX: i64 = 1000;
pub const BATCH_JOBS: usize = 1000;
pub const PRIORITY: i64 = 100;
pub const ATTEMPTS: i64 = 60;
pub const REDUNDANCY: i64 = 15;
pub const TIMEOUT_S: f64 = 30.0 * 86_400.0;
