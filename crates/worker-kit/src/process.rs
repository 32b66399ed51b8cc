//! Programs that a task starts, and their certain end (N18).
//!
//! Between the agent and a program stands a guard: a small process of the same binary. It inherits whatever the program
//! leaves behind, even what called `setsid`, and kills all of it when the program ends, when the agent lets go of it, or
//! when the agent is gone, `kill -9` included. Guards share a lock on a file, so that an agent that starts anew can wait
//! until nothing of its earlier life runs any more.

mod guard;

pub use guard::{CANNOT_START, GUARD_FAILED, guard};

use rustix::process::{Pid, Signal, kill_process};
use std::{
    env,
    ffi::OsString,
    fs::File,
    io::{self, Read},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::ExitStatusExt},
    },
    path::{Path, PathBuf},
    pin::pin,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    process::{Child, Command},
};
use tokio_util::sync::CancellationToken;

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

/// Settings for starting guards.
#[derive(Clone, Debug)]
pub struct Guards {
    /// The binary whose process calls [`guard()`].
    pub program: PathBuf,
    /// Arguments that make it a guard; `--lock FILE -- PROGRAM ARGUMENT…` follows.
    pub args: Vec<OsString>,
    /// The file that all guards of this agent lock together.
    pub lock: PathBuf,
}

/// A program to run.
#[derive(Clone, Debug)]
pub struct Program<'a> {
    /// Its name and its arguments.
    pub argv: &'a [String],
    /// Working directory.
    pub directory: &'a Path,
    /// All of its environment.
    pub environment: Vec<(OsString, OsString)>,
}

/// End of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// By itself, with this code; 128 and the signal if one ended it.
    Exited(i32),
    /// It was killed because somebody asked to cancel.
    Cancelled,
}

/// Result of a program that has ended together with all its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessEnd {
    /// Exit of the program.
    pub ending: Ending,
    /// The signal that ended it, where one did; a code above 128 may also be a program's own.
    pub signal: Option<i32>,
    /// The last 64 KiB that it printed.
    pub stdout: Vec<u8>,
    /// The last 64 KiB that it complained of.
    pub stderr: Vec<u8>,
}

impl ProcessEnd {
    /// Describes a failure: the name of the program, its exit code and the end of its error output. The other arguments
    /// are left out, because they may be secret.
    #[must_use]
    pub fn complaint(&self, argv: &[String], code: i32) -> String {
        let said = String::from_utf8_lossy(&self.stderr);
        let said = said.trim();
        let skipped = said.chars().count().saturating_sub(COMPLAINT_CHARS_MAX);
        let last: String = said.chars().skip(skipped).collect();
        format!("{} ended with {code}: {last}", program_name(argv)).trim_end_matches(": ").to_owned()
    }
}

/// The name of a program, without its arguments.
#[must_use]
pub fn program_name(argv: &[String]) -> &str {
    argv.first().map_or("", String::as_str)
}

impl Guards {
    /// Guards that are processes of the agent's own binary, started as `muster guard`.
    ///
    /// `/proc/self/exe` is the running binary even after an upgrade put another in its place.
    #[must_use]
    pub fn of_own_binary(lock: PathBuf) -> Self {
        Self { program: "/proc/self/exe".into(), args: vec!["guard".into()], lock }
    }

    /// Runs a program to its end, or until somebody asks to cancel. Returns when nothing of it runs any more; if the
    /// future is dropped, all of it is killed just as well.
    pub async fn run(&self, program: &Program<'_>, cancel: &CancellationToken) -> io::Result<ProcessEnd> {
        self.run_heard(program, cancel, &mut |_| {}).await
    }

    /// Does what [`Self::run`] does, and hands on what the program prints as it comes.
    pub async fn run_heard(
        &self,
        program: &Program<'_>,
        cancel: &CancellationToken,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> io::Result<ProcessEnd> {
        let (leash, end) = UnixStream::pair()?;
        leash.set_nonblocking(true)?;
        let mut guard = self.command(program).stdin(OwnedFd::from(end)).spawn()?;
        let (stdout, stderr) = (guard.stdout.take(), guard.stderr.take());
        let (stdout, stderr) = (stdout.expect("stdout is piped"), stderr.expect("stderr is piped"));
        let over = CancellationToken::new();
        let ending = async {
            let ending = end_of(guard, leash, cancel).await;
            over.cancel();
            ending
        };
        let mut ignore = |_: &[u8]| {};
        let (stdout, stderr) = (tail(stdout, &over, hear), tail(stderr, &over, &mut ignore));
        let (ending, stdout, stderr) = tokio::join!(ending, stdout, stderr);
        let (ending, signal) = ending?;
        Ok(ProcessEnd { ending, signal, stdout, stderr })
    }

    fn command(&self, program: &Program<'_>) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg("--lock").arg(&self.lock).arg("--").args(program.argv);
        command.current_dir(program.directory).env_clear().envs(program.environment.iter().cloned());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        // Ctrl-C at a terminal is for the agent, which ends its programs in its own order.
        command.arg0("muster").process_group(0);
        command
    }
}

async fn end_of(
    mut guard: Child,
    leash: UnixStream,
    cancel: &CancellationToken,
) -> io::Result<(Ending, Option<i32>)> {
    tokio::select! {
        biased;
        status = guard.wait() => {
            let status = status?;
            return Ok((Ending::Exited(code(status)), status.signal().or_else(|| told_signal(&leash))));
        }
        () = cancel.cancelled() => drop(leash),
    }
    match tokio::time::timeout(GRACE, guard.wait()).await {
        Ok(status) => drop(status?),
        Err(_late) => end_by_force(&mut guard).await?,
    }
    Ok((Ending::Cancelled, None))
}

/// The signal that the guard told of on its leash before it ended.
fn told_signal(mut leash: &UnixStream) -> Option<i32> {
    let mut told = [0; 1];
    leash.read_exact(&mut told).ok().map(|()| i32::from(told[0]))
}

fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| 128 + signal)).unwrap_or_default()
}

/// Reads until the end, hands on what it reads, and keeps the last [`TAIL_BYTES_MAX`] bytes.
///
/// When `over` says that the program and all its children are gone, whoever still holds the pipe is a stranger that was
/// handed it; what is in the pipe is read, and no more.
async fn tail(
    mut pipe: impl AsyncRead + Unpin,
    over: &CancellationToken,
    hear: &mut (dyn FnMut(&[u8]) + Send),
) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut chunk = vec![0; CHUNK_BYTES];
    let mut drained = pin!(async {
        over.cancelled().await;
        tokio::time::sleep(DRAIN).await;
    });
    loop {
        let read = tokio::select! {
            biased;
            () = &mut drained => 0,
            read = pipe.read(&mut chunk) => read.unwrap_or(0),
        };
        let read_now = chunk.get(..read).unwrap_or_default();
        hear(read_now);
        kept.extend_from_slice(read_now);
        kept.drain(..kept.len().saturating_sub(TAIL_BYTES_MAX));
        if read == 0 {
            return kept;
        }
    }
}

/// Kills all that is under a guard that does not end, waits until it is gone, and kills the guard.
///
/// The guard goes last: while it is there, nothing under it can get out of sight. All this takes as long as it takes: a
/// program stuck in a driver cannot be killed, and its device must not be given to another before it is gone (N18).
async fn end_by_force(guard: &mut Child) -> io::Result<()> {
    let Some(pid) = guard.id().and_then(|pid| Pid::from_raw(pid.try_into().ok()?)) else { return Ok(()) };
    tracing::warn!(
        guard = pid.as_raw_pid(),
        "a guard did not end in time: its programs are killed, and it is"
    );
    loop {
        let mut left = guard::descendants(pid)?;
        left.retain(|process| !process.is_zombie);
        if left.is_empty() {
            break;
        }
        guard::kill(&left, None);
        if tokio::time::timeout(LOOK_AGAIN, guard.wait()).await.is_ok() {
            return Ok(());
        }
    }
    let _ = kill_process(pid, Signal::KILL);
    guard.wait().await.map(drop)
}

const SILENT_WAIT: Duration = Duration::from_secs(2);
const INHERITED: &[&str] = &["PATH", "HOME", "LANG"];
/// Enough to see what went wrong.
const COMPLAINT_CHARS_MAX: usize = 2_000;
/// Far longer than a guard needs, far shorter than anybody's patience.
const GRACE: Duration = Duration::from_secs(5);
/// Enough to see what went wrong, little enough for twenty programs at once.
const TAIL_BYTES_MAX: usize = 64 * 1024;
const CHUNK_BYTES: usize = 8 * 1024;
const DRAIN: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_millis(100);

#[cfg(test)]
mod tests {
    use super::*;

    /// N18: however much a program prints, only the last 64 KiB are kept.
    #[tokio::test]
    async fn only_the_end_is_kept() {
        let printed: Vec<u8> = (0..200_000_u32).map(|n| n.to_le_bytes()[0]).collect();
        let mut heard = Vec::new();
        let mut hear = |bytes: &[u8]| heard.extend_from_slice(bytes);
        let kept = tail(printed.as_slice(), &CancellationToken::new(), &mut hear).await;
        assert_eq!(kept, printed[printed.len() - TAIL_BYTES_MAX..]);
        assert!(heard == printed, "whoever listens hears all of it");
        assert_eq!(tail(&b"short"[..], &CancellationToken::new(), &mut |_| {}).await, b"short");
    }

    /// N18: a stranger that holds the pipe holds up nobody.
    #[tokio::test(start_paused = true)]
    async fn a_stranger_holds_up_nobody() {
        let (mut stranger, pipe) = tokio::io::duplex(64);
        tokio::io::AsyncWriteExt::write_all(&mut stranger, b"last words").await.unwrap();
        let over = CancellationToken::new();
        over.cancel();
        assert_eq!(tail(pipe, &over, &mut |_| {}).await, b"last words");
    }
}
