//! The limits of what is accepted from outside.

/// Frames of a session, and so of a task (S26).
pub const FRAMES: i64 = 10_000_000;

/// The largest whole number that every reader of JSON reads exactly.
pub const WHOLE: i64 = (1 << 53) - 1;

/// Tasks that a worker may hold at a time.
pub const SLOTS: i64 = 1024;

/// The length of a registration, in bytes.
pub const DESCRIPTION_BYTES: usize = 64 * 1024;

/// Lines of diagnostics in one report.
pub const DIAGNOSTIC_LINES: usize = 100;

/// The length of such a line, in bytes.
pub const DIAGNOSTIC_BYTES: usize = 4096;

/// Pose files of one task.
pub const POSE_FILES: usize = 10_000;

/// A fragment that comes by path, in bytes. Such a file is read whole before it is accepted.
pub const FRAGMENT_BYTES: u64 = 64 * 1024 * 1024;

/// Ranges of frames that one request may name to be rendered again (S26b).
pub const RETRIED_RANGES: usize = 1000;

/// Ids that a worker may ask for at once: the rest of them is for others (S13).
pub const REQUESTED_IDS: i64 = 1 << 32;

/// The length of an id, in characters; so are the following.
pub const ID_CHARS: usize = 128;
/// The role of a worker.
pub const ROLE_CHARS: usize = 128;
/// The endpoint of a worker.
pub const ENDPOINT_CHARS: usize = 2048;
/// The status in a heartbeat.
pub const STATUS_CHARS: usize = 1024;
/// The error of a failed attempt.
pub const ERROR_CHARS: usize = 8192;
/// The reason or note of an operator.
pub const REASON_CHARS: usize = 1000;
/// A path relative to a directory.
pub const PATH_CHARS: usize = 1024;

/// The form of a worker's id (S1).
pub const WORKER_PATTERN: &str = "^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$";

/// The form of a session's id (S26).
pub const SESSION_PATTERN: &str = "^[a-z0-9_-]{1,64}$";
