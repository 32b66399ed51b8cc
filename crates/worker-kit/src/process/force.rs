//! What the agent does when a guard does not end.

use super::tree;
use rustix::process::{Pid, Signal, kill_process};
use std::{io, time::Duration};
use tokio::process::Child;

/// Kills all that is under a guard that does not end, waits until it is gone, and kills the guard.
///
/// The guard goes last: while it is there, nothing under it can get out of sight. All this takes as long as it takes: a
/// program stuck in a driver cannot be killed, and its device must not be given to another before it is gone (N18).
pub(super) async fn end(guard: &mut Child) -> io::Result<()> {
    let Some(pid) = guard.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)) else { return Ok(()) };
    tracing::warn!(
        guard = pid.as_raw_pid(),
        "a guard did not end in time: its programs are killed, and it is"
    );
    loop {
        let mut left = tree::descendants(pid)?;
        left.retain(|process| !process.is_zombie);
        if left.is_empty() {
            break;
        }
        tree::kill(&left, None);
        if tokio::time::timeout(LOOK_AGAIN, guard.wait()).await.is_ok() {
            return Ok(());
        }
    }
    let _ = kill_process(pid, Signal::KILL);
    guard.wait().await.map(drop)
}

const LOOK_AGAIN: Duration = Duration::from_millis(100);
