//! Programs that a task starts, and their certain end (N18).
//!
//! Between the agent and a program stands a guard: a small process of the same binary. It inherits whatever the program
//! leaves behind, even what called `setsid`, and kills all of it when the program ends, when the agent lets go of it, or
//! when the agent is gone, `kill -9` included. Guards share a lock on a file, so that an agent that starts anew can wait
//! until nothing of its earlier life runs any more.

mod force;
mod guard;
mod run;
mod tail;
mod tree;

pub use guard::{CANNOT_START, GUARD_FAILED, guard};
pub use run::{Ending, Guards, ProcessEnd, Program, program_name};

use std::{env, ffi::OsString, fs::File, io, path::Path, pin::pin, time::Duration};

/// Waits until no guard of an earlier life of this agent is left, and with it no program.
pub async fn wait_for_earlier_guards(lock: &Path) -> io::Result<()> {
    let lock = lock.to_owned();
    let waiting = tokio::task::spawn_blocking(move || open_lock(&lock)?.lock());
    waiting.await.map_err(io::Error::other)?
}

/// Waits like [`wait_for_earlier_guards`], and logs a warning if that takes long: programs are killed within moments,
/// so only those that cannot be killed take longer. `whose` is the owner of the guards, such as `worker`.
pub async fn wait_for_earlier_life(lock: &Path, whose: &str) -> io::Result<()> {
    let mut gone = pin!(wait_for_earlier_guards(lock));
    if let Ok(waited) = tokio::time::timeout(SILENT_WAIT, &mut gone).await {
        return waited;
    }
    tracing::warn!(lock = %lock.display(), "programs of an earlier {whose} still run; waiting until they are gone");
    gone.await
}

/// The variables of the agent that every program gets. Nothing else of the agent's environment reaches a program:
/// its secrets are there.
#[must_use]
pub fn base_environment() -> Vec<(OsString, OsString)> {
    let taken = |name: &&str| env::var_os(name).map(|value| (OsString::from(name), value));
    INHERITED.iter().filter_map(taken).collect()
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().create(true).append(true).open(path)
}

const SILENT_WAIT: Duration = Duration::from_secs(2);
const INHERITED: &[&str] = &["PATH", "HOME", "LANG"];
