//! What the disk and the kernel take for the least that a court could do.

use super::{soldier, soldier_command, sync_directory, write_synced};
use crate::stopwatch::{now, since_epoch};
use std::{fs, path::Path, process::Command, time::Duration};

const TIMES: usize = 200;

/// The single spans.
#[derive(Clone)]
pub(crate) struct Bare {
    /// A file written, synced, renamed, its directory synced.
    pub(crate) writes: Vec<Duration>,
    /// From the fork to the soldier's first line.
    pub(crate) starts: Vec<Duration>,
    /// From the fork to the soldier's end.
    runs: Vec<Duration>,
}

impl Bare {
    /// Measures beside a court, on its disk.
    pub(crate) fn measure(home: &Path) -> Self {
        let directory = tempfile::tempdir_in(home).expect("a directory");
        let writes = (0..TIMES).map(|number| write(directory.path(), number)).collect();
        let (starts, runs) = (0..TIMES).map(|_| start(directory.path())).unzip();
        Self { writes, starts, runs }
    }

    /// Writes, and soldiers from fork to end, per second.
    pub(crate) fn rates(measured: [&Self; 2]) -> (f64, f64) {
        let rate = |spans: fn(&Self) -> &Vec<Duration>| {
            let all: Duration = measured.iter().flat_map(|bare| spans(bare)).sum();
            (measured.len() * TIMES) as f64 / all.as_secs_f64()
        };
        (rate(|bare| &bare.writes), rate(|bare| &bare.runs))
    }
}

fn write(directory: &Path, number: usize) -> Duration {
    let begun = now();
    let temporary = directory.join(".tmp");
    write_synced(&temporary, &"x".repeat(FILE_BYTES));
    fs::rename(temporary, directory.join(format!("{number}.json"))).expect("a rename");
    sync_directory(directory);
    begun.elapsed()
}

fn start(directory: &Path) -> (Duration, Duration) {
    let result = directory.join("result.json");
    let [program, arguments @ ..] = soldier_command();
    let (begun, forked) = (now(), since_epoch());
    let status = Command::new(program)
        .args(arguments)
        .env("MUSTER_TASK_ID", "task-20250101-001")
        .env("MUSTER_RESULT_PATH", &result)
        .status();
    let run = begun.elapsed();
    assert!(status.expect("this program can be started").success(), "a soldier notes when it started");
    (soldier::started(&result).saturating_sub(forked), run)
}

/// As large as the file of a small task.
const FILE_BYTES: usize = 400;
