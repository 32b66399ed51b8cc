//! A process of the demo: an agent, a worker or the court, under a guard; killed, and started again as it was.
//!
//! The guard is the one that agents put above their programs. It kills everything under it when the demo lets go of it,
//! and therefore also when the demo itself is killed.

use crate::{client::ClientError, failure::Failure};
use muster_agent::runtime::AgentError;
use muster_coordinator::instant_now;
use muster_worker_kit::process::base_environment;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::{
    fs::{self, File},
    io,
    path::PathBuf,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{Instant, timeout},
};

/// Settings of a process.
pub(super) struct Orders {
    /// Its name in error messages.
    pub(super) name: String,
    pub(super) args: Vec<String>,
    /// Environment variables with its secrets.
    pub(super) secrets: Vec<(&'static str, String)>,
    /// Path of its log and its lock, without their endings.
    pub(super) files: PathBuf,
    /// Beginning of the line that it prints when it is up, if it prints one.
    pub(super) greeting: Option<&'static str>,
}

/// A process that is killed and started again.
pub(super) struct Process {
    orders: Orders,
    child: Option<Guarded>,
    killed_at: Instant,
}

/// A running process; it ends when this is dropped.
struct Guarded {
    guard: Child,
    leash: Option<ChildStdin>,
    process: Pid,
}

impl Process {
    pub(super) async fn start(orders: Orders) -> Result<Self, Failure> {
        let mut process = Self { orders, child: None, killed_at: instant_now() };
        process.launch().await?;
        Ok(process)
    }

    pub(super) const fn is_down(&self) -> bool {
        self.child.is_none()
    }

    /// Starts the process again if it was killed long enough ago for everybody to see; true if it did. A process that
    /// ended by itself is an error.
    pub(super) async fn tend(&mut self) -> Result<bool, Failure> {
        match &mut self.child {
            Some(child) => match child.guard.try_wait() {
                Ok(None) => Ok(false),
                Ok(Some(status)) => {
                    Err(self.trouble(io::Error::other(format!("it ended by itself, {status}"))))
                }
                Err(error) => Err(self.trouble(error)),
            },
            None if self.killed_at.elapsed() < DOWN_FOR => Ok(false),
            None => self.launch().await.map(|()| true),
        }
    }

    /// Kills it (`kill -9`).
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        if let Some(child) = self.child.take() {
            child.kill().await.map_err(|error| self.trouble(error))?;
        }
        self.killed_at = instant_now();
        Ok(())
    }

    /// Asks it to stop (SIGTERM) and waits for that; an unsuccessful exit is described.
    pub(super) async fn stop(&mut self) -> Result<Option<String>, Failure> {
        let name = &self.orders.name;
        let Some(child) = self.child.take() else { return Ok(Some(format!("{name} was not running"))) };
        let status = child.stop().await.map_err(|error| self.trouble(error))?;
        Ok((!status.success()).then(|| format!("{} ended with {status}", self.orders.name)))
    }

    pub(super) fn trouble(&self, error: io::Error) -> Failure {
        let what = format!("{} (its log: {})", self.orders.name, self.orders.file(".log").display());
        AgentError::Io { what, error }.into()
    }

    async fn launch(&mut self) -> Result<(), Failure> {
        let child = Guarded::start(&self.orders).await;
        self.child = Some(child.map_err(|error| self.trouble(error))?);
        Ok(())
    }
}

impl Orders {
    fn file(&self, ending: &str) -> PathBuf {
        let mut path = self.files.clone().into_os_string();
        path.push(ending);
        path.into()
    }

    fn command(&self) -> io::Result<Command> {
        let log = File::options().create(true).append(true).open(self.file(".log"))?;
        let mut command = Command::new(OWN_BINARY);
        command.arg0("muster").args(["guard", "--lock"]).arg(self.file(".lock")).args(["--", OWN_BINARY]);
        command.args(&self.args);
        // Secrets stand where others cannot read them; nothing of the demo's own environment may change the demo.
        command.env_clear().envs(base_environment());
        command.envs(self.secrets.iter().map(|(name, value)| (name, value)));
        let stdout = if self.greeting.is_some() { Stdio::piped() } else { Stdio::null() };
        command.stdin(Stdio::piped()).stdout(stdout).stderr(log);
        // Ctrl-C at a terminal is for the demo, which stops its processes in an order of its own.
        command.process_group(0);
        Ok(command)
    }
}

impl Guarded {
    async fn start(orders: &Orders) -> io::Result<Self> {
        let mut guard = orders.command()?.spawn()?;
        let leash = guard.stdin.take();
        let process = timeout(START_MAX, until_started(&mut guard, orders.greeting)).await;
        let process = process.map_err(|_late| io::Error::other("it does not start"))??;
        Ok(Self { guard, leash, process })
    }

    async fn kill(mut self) -> io::Result<()> {
        kill_process(self.process, Signal::KILL)?;
        self.guard.wait().await.map(drop)
    }

    async fn stop(mut self) -> io::Result<ExitStatus> {
        kill_process(self.process, Signal::TERM)?;
        let ended = timeout(STOP_MAX, self.guard.wait()).await;
        ended.map_err(|_late| io::Error::other("it does not stop"))?
    }
}

impl Drop for Guarded {
    /// Waits as well: a process that still writes would be in the way of removing the demo's files.
    fn drop(&mut self) {
        drop(self.leash.take());
        for _ in 0..LOOKS_AT_END {
            if !matches!(self.guard.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(BETWEEN_LOOKS);
        }
    }
}

/// Looks again and again until something holds; false if that takes half a minute.
pub(super) async fn until(mut holds: impl AsyncFnMut() -> Result<bool, Failure>) -> Result<bool, Failure> {
    for _ in 0..LOOKS_MAX {
        if holds().await? {
            return Ok(true);
        }
        tokio::time::sleep(BETWEEN_WAITING_LOOKS).await;
    }
    Ok(false)
}

/// Cancels some work; false if it ended just before.
pub(super) async fn cancelled(
    order: impl Future<Output = Result<Value, ClientError>>,
) -> Result<bool, Failure> {
    match order.await {
        Ok(_) => Ok(true),
        Err(ClientError::Refused { status, .. }) if status.as_u16() == 409 => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A command with flags that take a value.
pub(super) fn arguments<const N: usize>(command: &str, flags: [(&str, String); N]) -> Vec<String> {
    let flags = flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    [command.to_owned()].into_iter().chain(flags).collect()
}

/// Waits until the process is there and has printed its greeting, if it has one.
async fn until_started(guard: &mut Child, greeting: Option<&str>) -> io::Result<Pid> {
    if let Some((stdout, greeting)) = guard.stdout.take().zip(greeting) {
        until_greeting(stdout, greeting).await?;
    }
    loop {
        let id = guard.id().and_then(|id| i32::try_from(id).ok());
        if let Some(process) = id.and_then(child_of) {
            return Ok(process);
        }
        if guard.try_wait()?.is_some() {
            return Err(io::Error::other("it ended at once"));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

async fn until_greeting(stdout: ChildStdout, greeting: &str) -> io::Result<()> {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if line.starts_with(greeting) {
            return Ok(());
        }
    }
    Err(io::Error::other("it did not start"))
}

/// The process that a guard has started.
fn child_of(guard: i32) -> Option<Pid> {
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let stats = entries.filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok());
    let child = stats.filter_map(|stat| family(&stat)).find(|(_, parent)| *parent == guard);
    Pid::from_raw(child?.0)
}

/// A process and its parent, from `/proc/PID/stat`. The program's name is in parentheses and may contain some itself.
fn family(stat: &str) -> Option<(i32, i32)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let id = head.split_once(' ')?.0.parse().ok()?;
    Some((id, tail.split_whitespace().nth(1)?.parse().ok()?))
}

/// The running binary, even after a build put another in its place.
const OWN_BINARY: &str = "/proc/self/exe";
/// Longer than the server takes to miss a worker of a session.
const DOWN_FOR: Duration = Duration::from_millis(1200);
const START_MAX: Duration = Duration::from_secs(20);
/// More than any process takes to deliver what it has.
const STOP_MAX: Duration = Duration::from_secs(20);
const LOOKS_AT_END: usize = 400;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);
const BETWEEN_WAITING_LOOKS: Duration = Duration::from_millis(20);
const LOOKS_MAX: usize = 1500;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_its_parent() {
        assert_eq!(family("42 (a) Z 1 (x)) S 7 40 40 0 -1"), Some((42, 7)));
        assert_eq!(family("nonsense"), None);
        // In a container the parent may be out of sight.
        let parent = rustix::process::getppid();
        assert!(parent.is_none_or(|parent| child_of(parent.as_raw_pid()).is_some()));
    }
}
