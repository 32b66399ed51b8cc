//! One simulation worker of the demo: `muster sim-worker`, a process of this binary, as it would run on a render machine.

use super::{life::Orders, process::Process, server::Server};
use crate::{
    client::{Client, ClientError},
    failure::Failure,
};
use std::{io, net::SocketAddr, time::Duration};
use tokio::time::{Instant, timeout};

/// One worker, over all its lives.
pub(super) struct Worker {
    pub(super) plan: &'static WorkerPlan,
    process: Process,
    /// When the server took its last registration, by the server's clock.
    registered_at: Option<i64>,
}

/// A worker as it is planned.
#[derive(Debug)]
pub(super) struct WorkerPlan {
    pub(super) id: &'static str,
    /// Tasks are brought to it; the others ask for theirs.
    pub(super) is_pushed_to: bool,
}

impl Worker {
    /// Starts a worker with its log among the demo's files, and waits until the server knows it.
    pub(super) async fn start(
        plan: &'static WorkerPlan,
        server: &Server,
        client: &Client,
    ) -> Result<Self, Failure> {
        let directory = server.directory().join("workers");
        std::fs::create_dir_all(&directory)?;
        let orders = Orders {
            args: arguments(plan, server),
            secrets: vec![("MUSTER_ENROL_SECRET", server.enrol_secret.clone())],
            lock: directory.join(format!("{}.lock", plan.id)),
            log: directory.join(format!("{}.log", plan.id)),
            greeting: None,
        };
        let process = Process::start(format!("the worker {}", plan.id), orders).await?;
        let mut worker = Self { plan, process, registered_at: None };
        worker.become_known(client).await?;
        Ok(worker)
    }

    /// Starts it under the same name, and waits until the server knows that.
    pub(super) async fn start_again(&mut self, client: &Client) -> Result<(), Failure> {
        self.process.start_again().await?;
        self.become_known(client).await
    }

    /// How often it was started.
    pub(super) const fn starts(&self) -> u64 {
        self.process.starts
    }

    /// That it ended by itself is an error.
    pub(super) fn look(&mut self) -> Result<(), Failure> {
        self.process.look().map(drop)
    }

    /// Kills it (`kill -9`).
    pub(super) async fn kill(&mut self) -> Result<(), Failure> {
        self.process.kill().await
    }

    /// Since when it is not running; nothing while it is.
    pub(super) fn down_since(&self) -> Option<Instant> {
        self.process.down_since()
    }

    /// Asks it to leave (SIGTERM) and waits for that; gives what is wrong with how it ended, in words.
    pub(super) async fn stop(&mut self) -> Result<Option<String>, Failure> {
        self.process.stop().await
    }

    async fn become_known(&mut self, client: &Client) -> Result<(), Failure> {
        let known = timeout(READY_MAX, self.until_registered(client)).await;
        known.unwrap_or_else(|_late| {
            Err(self.process.trouble(io::Error::other("it does not find the demo's server")))
        })
    }

    async fn until_registered(&mut self, client: &Client) -> Result<(), Failure> {
        loop {
            self.look()?;
            let registered_at = registered_at(client, self.plan.id).await?;
            if registered_at != self.registered_at {
                self.registered_at = registered_at;
                return Ok(());
            }
            tokio::time::sleep(BETWEEN_LOOKS).await;
        }
    }
}

/// When the server last took a registration under a name, if it ever did.
async fn registered_at(client: &Client, id: &str) -> Result<Option<i64>, Failure> {
    match client.get(&["api", "v1", "workers", id], &[]).await {
        Ok(worker) => Ok(worker["registeredAt"].as_i64()),
        Err(ClientError::Refused { status, .. }) if status.as_u16() == 404 => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn arguments(plan: &WorkerPlan, server: &Server) -> Vec<String> {
    let mut flags = vec![
        ("--server", server.url.clone()),
        ("--id", plan.id.to_owned()),
        ("--fps", FRAMES_PER_SECOND.to_string()),
        ("--output-root", server.output.display().to_string()),
    ];
    if plan.is_pushed_to {
        // Where the server is: it brings tasks to no other address than the one that a registration came from (S3).
        flags.push(("--listen", SocketAddr::new(server.address.ip(), 0).to_string()));
    }
    let flags = flags.into_iter().flat_map(|(flag, value)| [flag.to_owned(), value]);
    [String::from("sim-worker")].into_iter().chain(flags).collect()
}

pub(super) static WORKERS: [WorkerPlan; 3] = [
    WorkerPlan { id: "GPU-01", is_pushed_to: false },
    WorkerPlan { id: "GPU-02", is_pushed_to: false },
    WorkerPlan { id: "GPU-03", is_pushed_to: true },
];

/// So that a range takes about a second, and a session about ten.
const FRAMES_PER_SECOND: u32 = 24;
const READY_MAX: Duration = Duration::from_secs(20);
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
