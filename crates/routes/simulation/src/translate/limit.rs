//! How much of everything is taken from outside.

/// Frames of a session, and so of a task (S26).
pub(crate) const FRAMES: i64 = 10_000_000;

/// The largest whole number that every reader of JSON reads exactly.
pub(crate) const WHOLE: i64 = (1 << 53) - 1;

/// Tasks that a worker may hold at a time.
pub(crate) const SLOTS: i64 = 1024;

/// What a worker may say about itself, in bytes.
pub(crate) const DESCRIPTION_BYTES: usize = 64 * 1024;

/// Lines of diagnostics in one report, and the length of each in bytes.
pub(crate) const DIAGNOSTIC_LINES: usize = 100;
pub(crate) const DIAGNOSTIC_BYTES: usize = 4096;

/// Pose files of one task.
pub(crate) const POSE_FILES: usize = 10_000;

/// A fragment that comes by path, in bytes. Such a file is read whole before it is accepted.
pub(crate) const FRAGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// Ranges of frames that one request may name to be rendered again (S26b).
pub(crate) const RETRIED_RANGES: usize = 1000;

/// Ids that a worker may ask for at once: the rest of them is for others (S13).
pub(crate) const REQUESTED_IDS: i64 = 1 << 32;

/// Texts, in characters.
pub(crate) const ID_CHARS: usize = 128;
pub(crate) const ROLE_CHARS: usize = 128;
pub(crate) const ENDPOINT_CHARS: usize = 2048;
pub(crate) const STATUS_CHARS: usize = 1024;
pub(crate) const ERROR_CHARS: usize = 8192;
pub(crate) const REASON_CHARS: usize = 1000;
pub(crate) const PATH_CHARS: usize = 1024;

/// What a worker may be called (S1).
pub(crate) const WORKER_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

/// What a session may be called (S26).
pub(crate) const SESSION_PATTERN: &str = "^[a-z0-9_-]{1,64}$";
