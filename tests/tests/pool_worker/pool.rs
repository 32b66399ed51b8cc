//! A server, a client with jobs, and workers that are processes.

use muster_tests::{Client, PoolWorker, Server};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server, and a directory that programs of workers write into.
pub(crate) struct Pool {
    pub(crate) server: Server,
    pub(crate) client: Client,
    pub(crate) directory: TempDir,
}

impl Pool {
    /// Starts a server with an owner of workers and a client.
    pub(crate) fn start(settings: &[(&str, &str)]) -> Self {
        let server = Server::with_fixed_port(settings);
        server.add_user("olga", &["WORKER_OWNER"]);
        let client = server.user("carl", &["CLIENT"]);
        Self { server, client, directory: tempfile::tempdir().unwrap() }
    }

    /// Starts a worker with more words on its command line.
    pub(crate) fn worker(&self, name: &str, args: &[&str]) -> PoolWorker {
        PoolWorker::start(&self.server.anonymous().url(), self.directory.path(), name, args)
    }

    /// A job with a number, and its id.
    pub(crate) fn submit(&self, payload: &Value) -> u64 {
        let job = json!({"payload": payload, "priority": 5});
        self.client.post("/jobs", &job).expect(201)["id"].as_u64().unwrap()
    }

    pub(crate) fn job(&self, id: u64) -> Value {
        self.client.get(&format!("/jobs/{id}")).expect(200)
    }

    /// Ends the server as no process can prevent, and starts it anew.
    pub(crate) fn kill_server(&mut self) {
        self.server.kill9();
        self.server.restart();
    }

    /// The owner's workers, as the server knows them.
    pub(crate) fn workers(&self) -> Vec<Value> {
        let answer = self.server.login("olga").get("/workers").expect(200);
        answer["workers"].as_array().unwrap().clone()
    }
}
