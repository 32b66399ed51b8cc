//! The guard: stands between the agent and a program, and outlives neither (N18).

use super::{open_lock, tree};
use rustix::io::Errno;
use rustix::process::{Pid, WaitOptions, WaitStatus, getpid, set_child_subreaper, wait};
use std::os::{fd::AsFd, unix::process::CommandExt};
use std::process::{Command, Stdio};
use std::{ffi::OsString, io, io::Write, path::Path};
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What the guard ends with when the program could not be started; why stands on its stderr.
pub const CANNOT_START: i32 = 126;
/// What the guard ends with when it could not do its work and started nothing; why stands on its stderr.
pub const GUARD_FAILED: i32 = 125;

/// Starts a program and stays until it and everything that descends from it is gone. Gives the guard's exit code: the
/// program's own, or 128 and the signal that ended it.
///
/// The guard's stdin is a socket. The guard writes one byte into it if a signal ended the program: which. The program is
/// killed when this stdin ends, which happens at the latest when the agent dies, or when the guard
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
    let mut leash = leash()?;
    if has_ended(&leash) {
        // The agent died before the lock was taken: its next life may not have waited for this guard.
        return Ok(Ended::By(SIGKILL).code());
    }
    let program = start(argv)?;
    let ended = loop {
        tokio::select! {
            _ = children.recv() => {
                if let Some(status) = reap(program) {
                    break Ended::of(status);
                }
            }
            () = end_of(&mut leash) => break Ended::By(SIGKILL),
            () = told_to_end.recv() => break Ended::By(SIGKILL),
        }
    };
    end_descendants(program)?;
    if let Ended::By(signal) = ended {
        // With the agent gone nobody reads this.
        let _ = rustix::io::write(&leash, &[signal]);
    }
    Ok(ended.code())
}

fn leash() -> io::Result<UnixStream> {
    let leash = std::os::unix::net::UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    leash.set_nonblocking(true)?;
    UnixStream::from_std(leash)
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

fn has_ended(leash: &UnixStream) -> bool {
    matches!(rustix::io::read(leash, &mut [0; 1]), Ok(0))
}

/// Returns when the agent let go, or is gone.
async fn end_of(leash: &mut UnixStream) {
    while leash.read(&mut [0; 64]).await.is_ok_and(|count| count > 0) {}
}

/// How the program ended.
#[derive(Clone, Copy)]
enum Ended {
    WithCode(i32),
    By(u8),
}

impl Ended {
    fn of(status: WaitStatus) -> Self {
        let signal = || status.terminating_signal().and_then(|signal| u8::try_from(signal).ok());
        status.exit_status().map_or_else(|| Self::By(signal().unwrap_or(SIGKILL)), Self::WithCode)
    }

    /// As shells tell it.
    fn code(self) -> i32 {
        match self {
            Self::WithCode(code) => code,
            Self::By(signal) => 128 + i32::from(signal),
        }
    }
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

const SIGKILL: u8 = 9;
