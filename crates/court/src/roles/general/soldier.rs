//! One execution of a program, from its start to its certain end (C16).

use super::{Ending, Start};
use crate::{
    Folder,
    config::{General, bare_environment, seconds},
};
use muster_worker_kit::process::{self, Guards, ProcessEnd, Program};
use std::{
    ffi::OsString,
    fs::{self, File},
    io::{self, Write},
    path::Path,
    pin::pin,
    sync::Arc,
    time::{Duration, SystemTime},
};
use tokio_util::sync::CancellationToken;

/// What all soldiers of a general have in common.
#[derive(Clone)]
pub(super) struct Barracks {
    pub(super) folder: Arc<Folder>,
    pub(super) general: Arc<General>,
    pub(super) guards: Arc<Guards>,
}

impl Barracks {
    /// Runs a soldier until it ends; nothing is told of one that ends because the general does.
    pub(super) async fn serve(&self, start: &Start, stop: &CancellationToken) -> Option<Ending> {
        let heartbeat = start.directory.join(HEARTBEAT_FILE);
        let environment = environment(start, &heartbeat);
        let program = Program { argv: &self.general.command, directory: self.folder.home(), environment };
        let cancel = stop.child_token();
        let limit = seconds(self.general.limit_s());
        let (end, is_late) = {
            let mut run = pin!(self.guards.run(&program, &cancel));
            tokio::select! {
                biased;
                end = &mut run => (end, false),
                () = silence(&heartbeat, limit) => {
                    cancel.cancel();
                    (run.await, true)
                }
            }
        };
        let end = match end {
            Ok(end) => end,
            Err(error) => return Some(Ending::NotStarted(error.to_string())),
        };
        if let Err(error) = keep_output(&start.directory, &end) {
            tracing::warn!(task = %start.task, %error, "what a soldier printed is not kept");
        }
        self.ending(end, is_late)
    }

    fn ending(&self, end: ProcessEnd, is_late: bool) -> Option<Ending> {
        match end.ending {
            process::Ending::Exited(code) => Some(match end.signal {
                Some(signal) => Ending::Killed(signal),
                None => Ending::Exited { code, last_words: last_words(&end.stderr) },
            }),
            process::Ending::Cancelled => is_late.then(|| Ending::TimedOut(self.general.limit_s())),
        }
    }
}

/// The court's own environment without its tokens, and where things are.
fn environment(start: &Start, heartbeat: &Path) -> Vec<(OsString, OsString)> {
    let mut environment = bare_environment();
    let places: [(&str, &Path); 4] = [
        ("MUSTER_TASK_ID", start.task.as_str().as_ref()),
        ("MUSTER_TASK_PATH", &start.task_path),
        ("MUSTER_RESULT_PATH", &start.result_path),
        ("MUSTER_HEARTBEAT_PATH", heartbeat),
    ];
    environment.extend(places.map(|(name, value)| (name.into(), value.into())));
    environment
}

/// Returns when a file was not touched for so long.
async fn silence(heartbeat: &Path, limit: Duration) {
    let mut last = touched(heartbeat);
    loop {
        let _ = tokio::time::timeout(limit, beat(heartbeat, last, limit / 4)).await;
        // Looked at once more: the beat may have come after the last look.
        let now = touched(heartbeat);
        if now == last {
            return;
        }
        last = now;
    }
}

/// Returns when a file is touched.
async fn beat(heartbeat: &Path, last: Option<SystemTime>, quarter: Duration) {
    let pause = quarter.clamp(LOOK_MIN, LOOK_MAX);
    while touched(heartbeat) == last {
        tokio::time::sleep(pause).await;
    }
}

/// Only whether it changes matters, not what time it tells.
fn touched(heartbeat: &Path) -> Option<SystemTime> {
    heartbeat.symlink_metadata().ok()?.modified().ok()
}

/// Whatever has this name is replaced, never written through.
fn keep_output(directory: &Path, end: &ProcessEnd) -> io::Result<()> {
    let path = directory.join(OUTPUT_FILE);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = File::options().write(true).create_new(true).open(path)?;
    let room = OUTPUT_BYTES_MAX.saturating_sub(end.stderr.len());
    let stdout = end.stdout.get(end.stdout.len().saturating_sub(room)..).unwrap_or_default();
    file.write_all(stdout)?;
    file.write_all(&end.stderr)
}

fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned()
}

const HEARTBEAT_FILE: &str = "heartbeat";
const OUTPUT_FILE: &str = "output.log";
const OUTPUT_BYTES_MAX: usize = 64 * 1024;
const LOOK_MIN: Duration = Duration::from_millis(5);
const LOOK_MAX: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;
    use muster_worker_kit::clock::instant_now;

    /// C16: touching the heartbeat restarts the limit, as often as it is touched; silence ends at the limit.
    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_restarts_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let heartbeat = directory.path().join("heartbeat");
        let began = instant_now();
        let limit = Duration::from_secs(10);
        let beats = async {
            for beat in 1..=5 {
                tokio::time::sleep(Duration::from_secs(9)).await;
                let file = File::options().create(true).append(true).open(&heartbeat).unwrap();
                file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(beat)).unwrap();
            }
        };
        tokio::join!(silence(&heartbeat, limit), beats);
        let lasted = began.elapsed();
        assert!(lasted >= Duration::from_secs(55) && lasted <= Duration::from_secs(57), "{lasted:?}");
        silence(&heartbeat, limit).await;
        assert!(began.elapsed() - lasted <= Duration::from_secs(11));
    }

    /// C16: what a soldier prints is kept, the end of it; a link in its place leads nowhere.
    #[test]
    fn output_is_kept_and_written_through_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let target = directory.path().join("target");
        fs::write(&target, "precious").unwrap();
        std::os::unix::fs::symlink(&target, directory.path().join(OUTPUT_FILE)).unwrap();
        let stdout = vec![b'x'; OUTPUT_BYTES_MAX];
        let end = ProcessEnd {
            ending: process::Ending::Exited(0),
            signal: None,
            stdout,
            stderr: b"one\ntwo \n\n".to_vec(),
        };
        keep_output(directory.path(), &end).unwrap();
        let kept = fs::read(directory.path().join(OUTPUT_FILE)).unwrap();
        assert_eq!(kept.len(), OUTPUT_BYTES_MAX);
        assert!(kept.ends_with(b"xone\ntwo \n\n"));
        assert_eq!(fs::read(&target).unwrap(), b"precious");
        assert_eq!(last_words(&end.stderr), "two");
    }
}
