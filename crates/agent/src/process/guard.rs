//! The guard: stands between the agent and a program, and outlives neither (N18).

use super::{open_lock, tree};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use std::os::{fd::AsFd, unix::process::CommandExt};
use std::process::{Command, Stdio};
use std::{ffi::OsString, io, io::Write, path::Path};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the guard ends with when the program could not be started; why stands on its stderr.
pub const CANNOT_START: i32 = 126;
/// What the guard ends with when it could not do its work and started nothing; why stands on its stderr.
pub const GUARD_FAILED: i32 = 125;

/// Starts a program and stays until it and everything that descends from it is gone. Gives the guard's exit code: the
/// program's own, or 128 and the signal that ended it.
///
/// The program is killed when the guard's stdin ends, which happens at the latest when the agent dies, or when the guard
/// is told to end. A shared lock on the file `lock` is held from before the start until after the end. Must be called
/// outside of any async runtime, in a process that does nothing else.
#[must_use]
pub fn guard(lock: &Path, argv: &[OsString]) -> i32 {
    watch(lock, argv).unwrap_or_else(|error| {
        // With the agent gone nobody reads this; that is no reason to panic.
        let _ = writeln!(io::stderr(), "{error}");
        error.code()
    })
}

fn watch(lock: &Path, argv: &[OsString]) -> Result<i32, GuardError> {
    let lock = open_lock(lock)?;
    lock.lock_shared()?;
    // Orphans come to the guard, so that all that the program leaves behind stays among its descendants.
    set_child_subreaper(Some(getpid()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(watch_program(argv))
}

async fn watch_program(argv: &[OsString]) -> Result<i32, GuardError> {
    let mut children = signal(SignalKind::child())?;
    let mut told_to_end = ToldToEnd::listen()?;
    let mut leash = Receiver::from_owned_fd(io::stdin().as_fd().try_clone_to_owned()?)?;
    if has_ended(&leash) {
        // The agent died before the lock was taken: its next life may not have waited for this guard.
        return Ok(KILLED);
    }
    let program = start(argv)?;
    let code = loop {
        tokio::select! {
            _ = children.recv() => {
                if let Some(status) = reap(program) {
                    break code(status);
                }
            }
            () = end_of(&mut leash) => break KILLED,
            () = told_to_end.recv() => break KILLED,
        }
    };
    end_descendants(program)?;
    Ok(code)
}

fn start(argv: &[OsString]) -> Result<Pid, GuardError> {
    let cannot_start = |program: &OsString, error: io::Error| {
        GuardError::CannotStart(format!("cannot start {}: {error}", program.display()))
    };
    let (program, arguments) = argv.split_first().ok_or(GuardError::NoProgram)?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).process_group(0);
    let child = command.spawn().map_err(|error| cannot_start(program, error))?;
    // The child is reaped below with whatever else becomes the guard's, not through its handle.
    Ok(Pid::from_child(&child))
}

/// Reaps whoever has ended; gives the program's status if it was among them.
fn reap(program: Pid) -> Option<WaitStatus> {
    let mut found = None;
    while let Ok(Some((pid, status))) = wait(WaitOptions::NOHANG) {
        if pid == program {
            found = Some(status);
        }
    }
    found
}

/// Kills and reaps until the guard has no children.
fn end_descendants(program: Pid) -> io::Result<()> {
    loop {
        let descendants = tree::descendants(getpid())?;
        tree::kill(&descendants, Some(program));
        // A child that was killed will end: waiting for it costs nothing. None seen means that they changed hands while
        // `/proc` was read: look again at once.
        let killed_child = descendants.iter().any(|process| process.parent == getpid().as_raw_pid());
        let options = if killed_child { WaitOptions::empty() } else { WaitOptions::NOHANG };
        match wait(options) {
            Err(Errno::CHILD) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

fn has_ended(leash: &Receiver) -> bool {
    matches!(rustix::io::read(leash, &mut [0; 1]), Ok(0))
}

/// Returns when the agent let go, or is gone.
async fn end_of(leash: &mut Receiver) {
    while leash.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
}

fn code(status: WaitStatus) -> i32 {
    status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)).unwrap_or(KILLED)
}

/// The signals that ask a program to end.
struct ToldToEnd {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl ToldToEnd {
    fn listen() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
        })
    }

    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
            _ = self.hangup.recv() => {}
        }
    }
}

#[derive(Debug, thiserror::Error)]
enum GuardError {
    #[error("{0}")]
    CannotStart(String),
    #[error("no program is named")]
    NoProgram,
    #[error("the guard failed: {0}")]
    Io(#[from] io::Error),
    #[error("the guard failed: {0}")]
    Os(#[from] Errno),
}

impl GuardError {
    const fn code(&self) -> i32 {
        match self {
            Self::CannotStart(_) => CANNOT_START,
            Self::NoProgram | Self::Io(_) | Self::Os(_) => GUARD_FAILED,
        }
    }
}

/// 128 and SIGKILL, as for any program that was killed.
const KILLED: i32 = 137;
