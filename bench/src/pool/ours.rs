//! The load on `muster serve`.

use super::{
    Drive, PAIRS, PAYLOAD,
    load::{self, Side},
};
use crate::{
    connection::Connection,
    server::{ADMIN_TOKEN, Server},
};
use muster_contract_pool::{
    Assignment, BatchRequest, JobRequest, RegisterRequest, SubmitRequest, SubmittedItem, WorkAnswer,
    WorkRequest, WorkerSummary, to_bytes,
};
use muster_proof::KeyPair;
use serde::Serialize;
use serde_json::json;
use tempfile::TempDir;

/// A server with everybody who will load it.
pub(crate) struct Stage {
    drive: Drive,
    server: Server,
    producers: Vec<Producer>,
    workers: Vec<Worker>,
    _data: TempDir,
}

impl Stage {
    /// Starts a server on a store, makes users and workers, and opens connections.
    pub(crate) fn set(drive: Drive, store: &str) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start(data.path(), store, &[]);
        let mut admin = Connection::open(server.address);
        let producers = (0..PAIRS).map(|n| Producer::new(&server, &mut admin, n)).collect();
        let workers = (0..PAIRS).map(|n| Worker::new(&server, &mut admin, n, drive.batch)).collect();
        Self { drive, server, producers, workers, _data: data }
    }

    /// The server's process.
    pub(crate) fn process(&self) -> u32 {
        self.server.id()
    }

    /// Jobs per second. The server lives for as long as this value does.
    pub(crate) fn rate(&mut self) -> f64 {
        let (producers, workers) = (std::mem::take(&mut self.producers), std::mem::take(&mut self.workers));
        load::run(self.drive, producers, workers)
    }
}

struct Producer {
    connection: Connection,
    token: String,
}

impl Producer {
    fn new(server: &Server, admin: &mut Connection, number: usize) -> Self {
        let token = user(server, admin, &format!("client-{number}"), "CLIENT");
        Self { connection: Connection::open(server.address), token }
    }
}

impl Side for Producer {
    fn step(&mut self, batch: usize) -> usize {
        let job = JobRequest::new(PAYLOAD.into());
        if batch == 1 {
            self.connection.post_text("/jobs", &self.token, &text(&job));
        } else {
            let jobs = BatchRequest { jobs: vec![job; batch] };
            self.connection.post_text("/jobs/batch", &self.token, &text(&jobs));
        }
        batch
    }
}

struct Worker {
    connection: Connection,
    token: String,
    pair: KeyPair,
    id: u64,
    /// Results to hand in with the next call.
    results: Vec<SubmitRequest>,
}

impl Worker {
    fn new(server: &Server, admin: &mut Connection, number: usize, slots: usize) -> Self {
        let token = user(server, admin, &format!("owner-{number}"), "WORKER_OWNER");
        let pair = KeyPair::from_seed(&[u8::try_from(number).unwrap_or(0); 32]);
        let mut connection = Connection::open(server.address);
        let worker = RegisterRequest {
            name: format!("worker-{number}").into(),
            region: None,
            specs_json: Some(format!("{{\"slots\":{slots}}}").as_str().into()),
            public_key: Some(pair.public_text().into()),
        };
        let answer = connection.post_text("/workers/register", &token, &text(&worker));
        let id = WorkerSummary::read(answer.as_bytes(), false).expect("a worker").id;
        Self { connection, token, pair, id, results: Vec::new() }
    }

    fn result(&self, assignment: &Assignment) -> SubmitRequest {
        let result = SubmitRequest {
            worker_id: Some(self.id),
            assignment_id: assignment.assignment_id,
            nonce: assignment.nonce.as_str().into(),
            output: Some("{\"ok\":true}".into()),
            output_hash: Some("h".into()),
            ..SubmitRequest::default()
        };
        result.signed(&self.pair)
    }
}

impl Side for Worker {
    /// Hands in what was taken before and takes the next; what is acknowledged counts.
    fn step(&mut self, batch: usize) -> usize {
        let (worker_id, handed) = (self.id, self.results.len());
        let submit = std::mem::take(&mut self.results);
        let max = u32::try_from(batch).unwrap_or(u32::MAX);
        let body = WorkRequest { worker_id, submit, max, wait_ms: 100, start: true };
        let answer = self.connection.post_text("/jobs/work", &self.token, &text(&body));
        let WorkAnswer { submitted, assignments } =
            WorkAnswer::read(answer.as_bytes()).expect("an answer for a worker");
        let is_taken = |item: &SubmittedItem| matches!(item, SubmittedItem::Taken(_));
        assert!(submitted.iter().all(is_taken), "{answer}");
        self.results = assignments.iter().map(|assignment| self.result(assignment)).collect();
        handed
    }
}

fn text(body: &impl Serialize) -> String {
    String::from_utf8(to_bytes(body)).expect("JSON is text")
}

/// Makes a user and logs it in.
fn user(server: &Server, admin: &mut Connection, name: &str, role: &str) -> String {
    let user = json!({"username": name, "password": "bench-password", "roles": [role]});
    admin.post_with("/users", ADMIN_TOKEN, &user.to_string());
    let login = json!({"username": name, "password": "bench-password"});
    let mut connection = Connection::open(server.address);
    let answer = connection.post_with("/auth/login", "", &login.to_string());
    answer["access_token"].as_str().expect("a token").to_owned()
}
