//! The guard: stands between the agent and a program, and outlives neither (N18).

use super::open_lock;
use rustix::{
    io::Errno,
    process::{
        Pid, WaitOptions, WaitStatus, getpid, kill_process, kill_process_group, set_child_subreaper, wait,
    },
};
use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs,
    io::{self, Write},
    os::{fd::AsFd, unix::process::CommandExt},
    path::Path,
    process::{Command, Stdio},
};
use tokio::{
    io::AsyncReadExt,
    net::UnixStream,
    signal::unix::{Signal, SignalKind, signal},
};

/// Exit code of a guard that could not start the program; its stderr has the reason.
pub const CANNOT_START: i32 = 126;
/// Exit code of a guard that failed and started nothing; its stderr has the reason.
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
        let descendants = descendants(getpid())?;
        kill(&descendants, Some(program));
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

/// Exit of the program.
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

/// A process at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) pid: i32,
    pub(super) parent: i32,
    group: i32,
    /// It has ended and only waits to be reaped.
    pub(super) is_zombie: bool,
}

/// Lists everything that descends from a process, without itself.
///
/// Processes come and go while `/proc` is read, so whoever wants to end them all must look again.
pub(super) fn descendants(ancestor: Pid) -> io::Result<Vec<Process>> {
    let mut others = all()?;
    let mut family = BTreeSet::from([ancestor.as_raw_pid()]);
    let mut found = Vec::new();
    loop {
        let (children, rest): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|process: &Process| family.contains(&process.parent));
        if children.is_empty() {
            return Ok(found);
        }
        family.extend(children.iter().map(|process| process.pid));
        found.extend(children);
        others = rest;
    }
}

/// Kills processes, and groups that one of them leads as a whole, so that none of a group forks away meanwhile.
pub(super) fn kill(processes: &[Process], program: Option<Pid>) {
    let mut leaders: BTreeSet<i32> = processes.iter().map(|process| process.pid).collect();
    leaders.extend(program.map(Pid::as_raw_pid));
    for process in processes {
        // A process may have joined a group of strangers, even the agent's: that one is not ours to kill.
        if let Some(group) = Pid::from_raw(process.group).filter(|_| leaders.contains(&process.group)) {
            let _ = kill_process_group(group, rustix::process::Signal::KILL);
        }
        if let Some(pid) = Pid::from_raw(process.pid) {
            let _ = kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn all() -> io::Result<Vec<Process>> {
    let entries = fs::read_dir("/proc")?.flatten();
    let numbered =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().first().is_some_and(u8::is_ascii_digit));
    let stats = numbered.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    Ok(stats.filter_map(|stat| parse(&stat)).collect())
}

/// Reads `/proc/PID/stat`. The program's name stands in parentheses and may itself hold some, and spaces.
fn parse(stat: &str) -> Option<Process> {
    let (head, tail) = stat.rsplit_once(')')?;
    let pid = head.split_once(' ')?.0.parse().ok()?;
    let mut fields = tail.split_whitespace();
    let is_zombie = matches!(fields.next()?, "Z" | "X");
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Process { pid, parent, group, is_zombie })
}

const SIGKILL: u8 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    /// N18: a program cannot hide behind its name.
    #[test]
    fn names_with_parentheses_are_read() {
        let process = Process { pid: 42, parent: 7, group: 40, is_zombie: false };
        assert_eq!(parse("42 (a) Z 1 (x)) S 7 40 40 0 -1 4194560 1 0"), Some(process));
        assert_eq!(parse("42 (a) Z 7 40 40 0"), Some(Process { is_zombie: true, ..process }));
        assert_eq!(parse("nonsense"), None);
        assert_eq!(parse("42 (cut) S 7"), None);
    }
}
