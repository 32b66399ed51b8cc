//! One agent of the demo: `muster agent`, a process of this binary, as it would run on a PC.

mod spool;

use super::{
    life::Orders,
    path::Path,
    plan::{Device, Plan},
    process::Process,
    server::Server,
};
use crate::failure::Failure;
use serde::Deserialize;
use std::path::PathBuf;
use tokio::time::Instant;

/// One agent, over all its lives.
pub(super) struct Agent {
    pub(super) pc: &'static str,
    /// How it was when it was last asked.
    pub(super) status: Status,
    process: Process,
    /// Its way to the server, where that is one that can be shut.
    path: Option<Path>,
    is_cut_off: bool,
    spool: PathBuf,
}

/// What an agent says of itself in `GET /status`, as far as the demo looks at it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Status {
    pub(super) running: u64,
    pub(super) queued: u64,
    pub(super) spooled: u64,
    pub(super) reachable: bool,
}

impl Agent {
    /// Starts an agent with its spool and its log among the demo's files.
    pub(super) async fn start(pc: &'static str, server: &Server) -> Result<Self, Failure> {
        let directory = server.directory().join("agents");
        std::fs::create_dir_all(&directory)?;
        let spool = directory.join(pc);
        let path = match Plan::cuts_off(pc) {
            true => Some(Path::lay(server.address).await?),
            false => None,
        };
        let url = path.as_ref().map_or(&server.url, |path| &path.url);
        let orders = Orders {
            args: arguments(pc, (url, server.slots), &spool),
            secrets: vec![("NODE_AGENT_SHARED_SECRET", server.node_secret.clone())],
            lock: directory.join(format!("{pc}.lock")),
            log: directory.join(format!("{pc}.log")),
            greeting: Some("status on "),
        };
        let process = Process::start(format!("the agent {pc}"), orders).await?;
        Ok(Self { pc, status: Status::default(), process, path, is_cut_off: false, spool })
    }

    /// Starts it on the spool that its last life left.
    pub(super) async fn start_again(&mut self) -> Result<(), Failure> {
        self.process.start_again().await
    }

    /// How often it was started.
    pub(super) const fn starts(&self) -> u64 {
        self.process.starts
    }

    /// Asks it how it is. That it ended by itself is an error.
    pub(super) async fn look(&mut self, http: &reqwest::Client) -> Result<(), Failure> {
        let Some(address) = self.process.look()? else { return Ok(()) };
        // One that is slow to answer is as it was.
        if let Some(status) = ask(http, address).await {
            self.status = status;
        }
        Ok(())
    }

    /// Kills it (`kill -9`); gives the ids of the events that it leaves in its spool.
    pub(super) async fn kill(&mut self) -> Result<Vec<String>, Failure> {
        self.process.kill().await?;
        self.status = Status::default();
        self.spooled()
    }

    /// Cuts it off from the server, or lets it through again.
    pub(super) fn cut_off(&mut self, is_cut_off: bool) {
        match &self.path {
            Some(path) if is_cut_off => path.shut(),
            Some(path) => path.open(),
            None => return,
        }
        self.is_cut_off = is_cut_off;
    }

    pub(super) const fn is_cut_off(&self) -> bool {
        self.is_cut_off
    }

    /// Since when it is not running; nothing while it is.
    pub(super) fn down_since(&self) -> Option<Instant> {
        self.process.down_since()
    }

    /// Asks it to stop (SIGTERM) and waits for that; gives what is wrong with how it ended, in words.
    pub(super) async fn stop(&mut self) -> Result<Option<String>, Failure> {
        self.process.stop().await
    }

    /// The ids of the events in its spool that nobody has taken. It must not be running.
    pub(super) fn spooled(&self) -> Result<Vec<String>, Failure> {
        Ok(spool::event_ids(&self.spool)?)
    }
}

impl Status {
    pub(super) const fn is_idle(self) -> bool {
        self.running == 0 && self.queued == 0 && self.spooled == 0
    }
}

/// Asks an agent at the address that it greeted with.
async fn ask(http: &reqwest::Client, address: &str) -> Option<Status> {
    http.get(address).send().await.ok()?.json().await.ok()
}

fn arguments(pc: &str, (url, slots): (&str, usize), spool: &std::path::Path) -> Vec<String> {
    let devices = Device::numbers_of_pc(pc);
    let (count, first) = (devices.len(), devices.start);
    let flags = [
        ("--server", url.to_owned()),
        ("--node", pc.to_owned()),
        ("--devices", format!("simulated:{count}@{first}")),
        ("--slots", slots.to_string()),
        ("--spool", spool.display().to_string()),
        ("--status", "127.0.0.1:0".to_owned()),
    ];
    let flags = flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    [String::from("agent")].into_iter().chain(flags).collect()
}
