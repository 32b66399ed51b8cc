//! What the agent does when a guard does not end.

use super::tree;
use rustix::process::{Pid, Signal, kill_process};
use std::{io, time::Duration};
use tokio::process::Child;

/// Kills a guard that does not end, and all that is under it, and waits until they are gone.
///
/// That takes as long as it takes: a program stuck in a driver cannot be killed, and its device must not be given to
/// another before it is gone (N18).
pub(super) async fn end(guard: &mut Child) -> io::Result<()> {
    let Some(pid) = guard.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)) else { return Ok(()) };
    tracing::warn!(
        guard = pid.as_raw_pid(),
        "a guard did not end in time: it is killed, and its programs are"
    );
    let mut left = tree::descendants(pid)?;
    let _ = kill_process(pid, Signal::KILL);
    guard.wait().await?;
    loop {
        tree::kill(&left, None);
        left.retain(tree::is_alive);
        if left.is_empty() {
            return Ok(());
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

const LOOK_AGAIN: Duration = Duration::from_millis(100);
