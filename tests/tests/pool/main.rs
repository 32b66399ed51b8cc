//! Contract P through the real binary: users, owners' workers, signed results, receipts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod jobs;
mod kills;
mod proofs;

use muster_tests::{Client, FakePoolWorker, PoolWorker, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server with a client, an owner and a worker of theirs, and a directory for what other workers write.
struct Pool {
    server: Server,
    client: Client,
    worker: FakePoolWorker,
    directory: TempDir,
}

impl Pool {
    fn start() -> Self {
        Self::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> Self {
        let server = Server::with_fixed_port(settings);
        let client = server.user("carl", &["CLIENT"]);
        let worker = FakePoolWorker::registered(&server.user("olga", &["WORKER_OWNER"]), "worker-a");
        Self { server, client, worker, directory: tempfile::tempdir().unwrap() }
    }

    fn job(&self, id: u64) -> Value {
        self.client.get(&format!("/jobs/{id}")).expect(200)
    }

    /// Starts `muster pool-worker` as the owner, with more words on its command line.
    fn start_worker(&self, name: &str, args: &[&str]) -> PoolWorker {
        PoolWorker::start(&self.server.anonymous().url(), self.directory.path(), name, args)
    }

    fn receipt(&self, id: u64) -> Value {
        self.client.get(&format!("/jobs/{id}/receipt")).expect(200)
    }
}

/// Hands a job in and says its id.
fn hand_in(client: &Client, job: &Value) -> u64 {
    client.post("/jobs", job).expect(201)["id"].as_u64().unwrap()
}

/// A job of which nothing matters.
fn plain(n: u64) -> Value {
    json!({"payload": {"n": n}, "priority": 5})
}

/// Status and detail of a rejection.
fn told(answer: &muster_tests::Answer) -> (u16, String) {
    let problem = answer.problem(answer.status);
    (answer.status, problem["detail"].as_str().unwrap().to_owned())
}
