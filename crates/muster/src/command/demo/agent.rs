//! One agent of the demo: `muster agent`, a process of this binary, as it would run on a PC.

mod life;
mod spool;

use super::{plan::Device, server::Server};
use crate::failure::Failure;
use life::Life;
use muster_agent::runtime::AgentError;
use serde::Deserialize;
use std::{io, path::PathBuf, process::ExitStatus};
use tokio::time::Instant;

/// One agent, over all its lives.
pub(super) struct Agent {
    pub(super) pc: &'static str,
    /// How it was when it was last asked.
    pub(super) status: Status,
    /// How often it was started.
    pub(super) starts: u64,
    orders: Orders,
    life: Option<Life>,
    ended_at: Instant,
}

/// What an agent says of itself in `GET /status`, as far as the demo looks at it.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
pub(super) struct Status {
    pub(super) running: u64,
    pub(super) queued: u64,
    pub(super) spooled: u64,
    pub(super) reachable: bool,
}

/// What an agent is started with.
struct Orders {
    args: Vec<String>,
    secret: String,
    spool: PathBuf,
    lock: PathBuf,
    log: PathBuf,
}

impl Agent {
    /// Starts an agent with its spool and its log among the demo's files.
    pub(super) async fn start(pc: &'static str, server: &Server) -> Result<Self, Failure> {
        let orders = Orders::new(pc, server)?;
        let (status, ended_at) = (Status::default(), Instant::now());
        let mut agent = Self { pc, status, starts: 0, orders, life: None, ended_at };
        agent.start_again().await?;
        Ok(agent)
    }

    /// Starts it on the spool that its last life left.
    pub(super) async fn start_again(&mut self) -> Result<(), Failure> {
        let life = Life::begin(&self.orders).await;
        self.life = Some(life.map_err(|error| self.trouble(error))?);
        self.starts += 1;
        Ok(())
    }

    /// Asks it how it is. That it ended by itself is an error.
    pub(super) async fn look(&mut self, http: &reqwest::Client) -> Result<(), Failure> {
        let Some(life) = &mut self.life else { return Ok(()) };
        match life.ended() {
            Ok(None) => {}
            Ok(Some(status)) => {
                return Err(self.trouble(io::Error::other(format!("it ended by itself, {status}"))));
            }
            Err(error) => return Err(self.trouble(error)),
        }
        // One that is slow to answer is as it was.
        if let Some(status) = life.ask(http).await {
            self.status = status;
        }
        Ok(())
    }

    /// Kills it (`kill -9`); gives the ids of the events that it leaves in its spool.
    pub(super) async fn kill(&mut self) -> Result<Vec<String>, Failure> {
        if let Some(life) = self.life.take() {
            life.kill().await.map_err(|error| self.trouble(error))?;
        }
        self.status = Status::default();
        self.ended_at = Instant::now();
        self.spooled()
    }

    /// Since when it is not running; nothing while it is.
    pub(super) fn down_since(&self) -> Option<Instant> {
        self.life.is_none().then_some(self.ended_at)
    }

    /// Asks it to stop (SIGTERM) and waits for that.
    pub(super) async fn stop(&mut self) -> Result<Option<ExitStatus>, Failure> {
        let Some(life) = self.life.take() else { return Ok(None) };
        life.stop().await.map(Some).map_err(|error| self.trouble(error))
    }

    /// The ids of the events in its spool that nobody has taken. It must not be running.
    pub(super) fn spooled(&self) -> Result<Vec<String>, Failure> {
        Ok(spool::event_ids(&self.orders.spool)?)
    }

    fn trouble(&self, error: io::Error) -> Failure {
        let what = format!("the agent {} (its log: {})", self.pc, self.orders.log.display());
        AgentError::Io { what, error }.into()
    }
}

impl Status {
    pub(super) const fn is_idle(self) -> bool {
        self.running == 0 && self.queued == 0 && self.spooled == 0
    }
}

impl Orders {
    fn new(pc: &str, server: &Server) -> Result<Self, Failure> {
        let directory = server.directory().join("agents");
        std::fs::create_dir_all(&directory)?;
        let spool = directory.join(pc);
        let devices = Device::numbers_of_pc(pc);
        let (count, first) = (devices.len(), devices.start);
        let args = [
            ("--server", server.url.clone()),
            ("--node", pc.to_owned()),
            ("--devices", format!("simulated:{count}@{first}")),
            ("--slots", server.slots.to_string()),
            ("--spool", spool.display().to_string()),
            ("--status", "127.0.0.1:0".to_owned()),
        ];
        let args = args.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
        Ok(Self {
            args: [String::from("agent")].into_iter().chain(args).collect(),
            secret: server.node_secret.clone(),
            lock: directory.join(format!("{pc}.lock")),
            log: directory.join(format!("{pc}.log")),
            spool,
        })
    }
}
