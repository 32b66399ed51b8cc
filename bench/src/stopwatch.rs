//! Reads the clock and the process's memory; nothing else here does.

use std::time::{Duration, Instant};

/// How long something takes.
#[allow(clippy::disallowed_methods, reason = "measuring is what this crate is for")]
pub(crate) fn time<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = Instant::now();
    let result = work();
    (begun.elapsed(), result)
}

/// Bytes of memory the process holds.
pub(crate) fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib =
        line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}
