//! One life of an agent: a process, and the guard above it.
//!
//! The guard is what agents put above programs of theirs: it kills all that is under it when the demo lets go of it, and
//! so also when the demo is killed itself.

use super::{Orders, Status};
use muster_agent::process::base_environment;
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    io,
    process::{ExitStatus, Stdio},
    time::Duration,
};
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

/// A running agent; it ends when this is dropped.
pub(super) struct Life {
    guard: Child,
    leash: Option<ChildStdin>,
    agent: Pid,
    status: String,
}

impl Life {
    pub(super) async fn begin(orders: &Orders) -> io::Result<Self> {
        let mut guard = command(orders)?.spawn()?;
        let leash = guard.stdin.take();
        let stdout = guard.stdout.take().expect("stdout is piped");
        let announced = timeout(ANNOUNCE_MAX, announced(stdout)).await;
        let status = announced.map_err(|_late| io::Error::other("it does not start"))??;
        let guard_id = guard.id().and_then(|id| i32::try_from(id).ok());
        let agent = guard_id.and_then(child_of).ok_or_else(|| io::Error::other("it ended at once"))?;
        Ok(Self { guard, leash, agent, status })
    }

    /// How it ended, if it did.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.guard.try_wait()
    }

    pub(super) async fn ask(&self, http: &reqwest::Client) -> Option<Status> {
        http.get(&self.status).send().await.ok()?.json().await.ok()
    }

    pub(super) async fn kill(mut self) -> io::Result<()> {
        kill_process(self.agent, Signal::KILL)?;
        self.guard.wait().await.map(drop)
    }

    pub(super) async fn stop(mut self) -> io::Result<ExitStatus> {
        kill_process(self.agent, Signal::TERM)?;
        let ended = timeout(STOP_MAX, self.guard.wait()).await;
        ended.map_err(|_late| io::Error::other("it does not stop"))?
    }
}

impl Drop for Life {
    /// Waits as well: an agent that still writes would be in the way of whoever tidies up.
    fn drop(&mut self) {
        drop(self.leash.take());
        for _ in 0..LOOKS_AT_END {
            if !matches!(self.guard.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(BETWEEN_LOOKS_AT_END);
        }
    }
}

fn command(orders: &Orders) -> io::Result<Command> {
    let log = File::options().create(true).append(true).open(&orders.log)?;
    let mut command = Command::new(OWN_BINARY);
    command.arg0("muster").args(["guard", "--lock"]).arg(&orders.lock).args(["--", OWN_BINARY]);
    command.args(&orders.args);
    // The secret stands where others cannot read it; of the demo's own environment nothing may change the demo.
    command.env_clear().envs(base_environment()).env("NODE_AGENT_SHARED_SECRET", &orders.secret);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    // Ctrl-C at a terminal is for the demo, which stops its agents in its own order.
    command.process_group(0);
    Ok(command)
}

/// Where the agent serves its status, from the line it prints when it is up.
async fn announced(stdout: ChildStdout) -> io::Result<String> {
    let mut lines = BufReader::new(stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(address) = line.strip_prefix("status on ") {
            return Ok(address.to_owned());
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
const ANNOUNCE_MAX: Duration = Duration::from_secs(20);
/// More than an agent takes to deliver what it has to say.
const STOP_MAX: Duration = Duration::from_secs(20);
const LOOKS_AT_END: usize = 400;
const BETWEEN_LOOKS_AT_END: Duration = Duration::from_millis(5);

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
