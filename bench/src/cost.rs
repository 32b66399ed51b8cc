//! What another process costs while something goes on.

use crate::stopwatch::now;
use std::{fs, time::Duration};

/// What a span of time cost.
pub(crate) struct Cost {
    pub(crate) span: Duration,
    pub(crate) cpu: Duration,
    resident_kib: u64,
}

impl Cost {
    /// Watches a process while something is done.
    pub(crate) fn watch(process: u32, meanwhile: impl FnOnce()) -> Self {
        let (begun, before) = (now(), cpu(process));
        meanwhile();
        Self { span: begun.elapsed(), cpu: cpu(process) - before, resident_kib: resident_kib(process) }
    }

    pub(crate) fn words(&self) -> String {
        let share = 100.0 * self.cpu.as_secs_f64() / self.span.as_secs_f64();
        format!("{share:>6.2} % of a core   {:>5.1} MiB resident", self.resident_kib as f64 / 1024.0)
    }
}

/// The time on a core of all its threads, in nanoseconds of the scheduler.
fn cpu(process: u32) -> Duration {
    let threads = fs::read_dir(format!("/proc/{process}/task")).expect("the process lives");
    let spent = |thread: fs::DirEntry| -> Option<u64> {
        let stat = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        stat.split(' ').next()?.parse().ok()
    };
    Duration::from_nanos(threads.filter_map(Result::ok).filter_map(spent).sum())
}

fn resident_kib(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("the process lives");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).expect("Linux says so");
    line.trim().trim_end_matches(" kB").parse().expect("a number of KiB")
}
