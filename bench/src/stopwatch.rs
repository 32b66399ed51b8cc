//! Reads the clock and the process's memory; nothing else here does.

use muster_model::Timestamp;
use std::time::{Duration, Instant};

/// A moment, for measuring from.
#[allow(clippy::disallowed_methods, reason = "measuring is what this crate is for")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The present time, for data that a server will look at.
pub(crate) fn wall_clock() -> Timestamp {
    Timestamp(i64::try_from(since_epoch().as_millis()).unwrap_or(i64::MAX))
}

/// The present time, on the one clock that two processes share.
#[allow(clippy::disallowed_methods, reason = "measuring is what this crate is for")]
pub(crate) fn since_epoch() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default()
}

/// Measures the CPU time that `work` takes on this thread; other load on the machine does not count.
pub(crate) fn busy<T>(work: impl FnOnce() -> T) -> (Duration, T) {
    let begun = busy_so_far();
    let result = work();
    (busy_so_far() - begun, result)
}

/// Reads the CPU clock of the thread. `/proc/thread-self/schedstat` is too coarse: while the thread runs, it advances only at the scheduler's
/// ticks (4 ms).
fn busy_so_far() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Bytes of memory the process holds.
pub(crate) fn resident_bytes() -> u64 {
    status_bytes("VmRSS:")
}

/// The most bytes of memory the process ever held.
pub(crate) fn peak_bytes() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let kib =
        line.and_then(|line| line.split_whitespace().next()).and_then(|number| number.parse::<u64>().ok());
    kib.unwrap_or(0) * 1024
}

/// The value below which so many percent of the samples lie.
pub(crate) fn percentile(samples: &mut [Duration], percent: usize) -> Duration {
    samples.sort_unstable();
    let place = (samples.len() * percent / 100).min(samples.len().saturating_sub(1));
    samples.get(place).copied().unwrap_or_default()
}
