//! Contract P through the real binary: users, owners' workers, signed results, receipts.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod commands;
mod jobs;
mod kills;
mod proofs;
mod workers;

use muster_tests::{Client, FakePoolWorker, Server};
use serde_json::{Value, json};

/// A server with a client, an owner and a worker of theirs.
struct Pool {
    server: Server,
    client: Client,
    worker: FakePoolWorker,
}

impl Pool {
    fn start() -> Self {
        Self::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> Self {
        let server = Server::with(settings);
        let client = server.user("carl", &["CLIENT"]);
        let worker = FakePoolWorker::registered(&server.user("olga", &["WORKER_OWNER"]), "worker-a");
        Self { server, client, worker }
    }

    fn kill9_and_restart(&mut self) {
        self.server.kill9();
        self.server.restart();
    }

    fn job(&self, id: u64) -> Value {
        self.client.get(&format!("/jobs/{id}")).expect(200)
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

/// What a refusal says.
fn told(answer: &muster_tests::Answer) -> (u16, String) {
    let problem = answer.problem(answer.status);
    (answer.status, problem["detail"].as_str().unwrap().to_owned())
}
