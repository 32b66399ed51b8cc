//! One life of an agent, a worker or the court: a process of this binary, and the guard above it.
//!
//! The guard is what agents put above programs of theirs: it kills all that is under it when the demo lets go of it, and
//! so also when the demo is killed itself.

use muster_worker_kit::process::base_environment;
use rustix::process::{Pid, Signal, kill_process};
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
    time::timeout,
};

/// What a process is started with.
pub(super) struct Orders {
    pub(super) args: Vec<String>,
    /// The variables that hand it its secrets, and the secrets.
    pub(super) secrets: Vec<(&'static str, String)>,
    pub(super) lock: PathBuf,
    pub(super) log: PathBuf,
    /// How the line begins that it prints when it is up, if it prints one.
    pub(super) greeting: Option<&'static str>,
}

/// A running process; it ends when this is dropped.
pub(super) struct Life {
    guard: Child,
    leash: Option<ChildStdin>,
    process: Pid,
    said: String,
}

impl Life {
    pub(super) async fn begin(orders: &Orders) -> io::Result<Self> {
        let mut guard = command(orders)?.spawn()?;
        let leash = guard.stdin.take();
        let begun = timeout(START_MAX, begun(&mut guard, orders.greeting)).await;
        let (process, said) = begun.map_err(|_late| io::Error::other("it does not start"))??;
        Ok(Self { guard, leash, process, said })
    }

    /// What followed its greeting.
    pub(super) fn said(&self) -> &str {
        &self.said
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.guard.try_wait()
    }

    pub(super) async fn kill(mut self) -> io::Result<()> {
        kill_process(self.process, Signal::KILL)?;
        self.guard.wait().await.map(drop)
    }

    pub(super) async fn stop(mut self) -> io::Result<ExitStatus> {
        kill_process(self.process, Signal::TERM)?;
        let ended = timeout(STOP_MAX, self.guard.wait()).await;
        ended.map_err(|_late| io::Error::other("it does not stop"))?
    }
}

impl Drop for Life {
    /// Waits as well: whoever still writes would be in the way of whoever tidies up.
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

fn command(orders: &Orders) -> io::Result<Command> {
    let log = File::options().create(true).append(true).open(&orders.log)?;
    let mut command = Command::new(OWN_BINARY);
    command.arg0("muster").args(["guard", "--lock"]).arg(&orders.lock).args(["--", OWN_BINARY]);
    command.args(&orders.args);
    // Secrets stand where others cannot read them; of the demo's own environment nothing may change the demo.
    command
        .env_clear()
        .envs(base_environment())
        .envs(orders.secrets.iter().map(|(name, value)| (name, value)));
    let stdout = if orders.greeting.is_some() { Stdio::piped() } else { Stdio::null() };
    command.stdin(Stdio::piped()).stdout(stdout).stderr(log);
    // Ctrl-C at a terminal is for the demo, which stops everybody in its own order.
    command.process_group(0);
    Ok(command)
}

/// Waits until the process is there, and until it has greeted if it does; gives what followed the greeting.
async fn begun(guard: &mut Child, greeting: Option<&str>) -> io::Result<(Pid, String)> {
    let said = match (guard.stdout.take(), greeting) {
        (Some(stdout), Some(greeting)) => greeted(stdout, greeting).await?,
        _ => String::new(),
    };
    loop {
        let id = guard.id().and_then(|id| i32::try_from(id).ok());
        if let Some(process) = id.and_then(child_of) {
            return Ok((process, said));
        }
        if guard.try_wait()?.is_some() {
            return Err(io::Error::other("it ended at once"));
        }
        tokio::time::sleep(BETWEEN_LOOKS).await;
    }
}

async fn greeted(stdout: ChildStdout, greeting: &str) -> io::Result<String> {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(rest) = line.strip_prefix(greeting) {
            return Ok(rest.to_owned());
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

/// A process and its parent, from `/proc/PID/stat`. The program's name stands in parentheses and may hold any itself.
fn family(stat: &str) -> Option<(i32, i32)> {
    let (head, tail) = stat.rsplit_once(')')?;
    let id = head.split_once(' ')?.0.parse().ok()?;
    Some((id, tail.split_whitespace().nth(1)?.parse().ok()?))
}

/// The running binary, even after a build put another in its place.
const OWN_BINARY: &str = "/proc/self/exe";
const START_MAX: Duration = Duration::from_secs(20);
/// More than anybody takes to deliver what there is to say.
const STOP_MAX: Duration = Duration::from_secs(20);
const LOOKS_AT_END: usize = 400;
const BETWEEN_LOOKS: Duration = Duration::from_millis(5);

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
