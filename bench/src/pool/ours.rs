//! The load on `muster serve`.

use super::{
    Drive, PAIRS, PAYLOAD,
    load::{self, Side},
};
use crate::{
    connection::Connection,
    server::{ADMIN_TOKEN, Server},
};
use muster_proof::{KeyPair, signed_bytes};
use serde_json::{Value, json};
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
        let workers = (0..PAIRS).map(|n| Worker::new(&server, &mut admin, (n, drive.batch))).collect();
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
        let token = user(server, admin, (&format!("client-{number}"), "CLIENT"));
        Self { connection: Connection::open(server.address), token }
    }
}

impl Side for Producer {
    fn step(&mut self, batch: usize) -> usize {
        if batch == 1 {
            self.connection.post_text("/jobs", &self.token, &format!("{{\"payload\":{PAYLOAD}}}"));
        } else {
            let jobs = vec![format!("{{\"payload\":{PAYLOAD}}}"); batch].join(",");
            self.connection.post_text("/jobs/batch", &self.token, &format!("{{\"jobs\":[{jobs}]}}"));
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
    results: Vec<String>,
}

impl Worker {
    fn new(server: &Server, admin: &mut Connection, (number, slots): (usize, usize)) -> Self {
        let token = user(server, admin, (&format!("owner-{number}"), "WORKER_OWNER"));
        let pair = KeyPair::from_seed(&[u8::try_from(number).unwrap_or(0); 32]);
        let mut connection = Connection::open(server.address);
        let worker = json!({"name": format!("worker-{number}"), "public_key": pair.public_text(),
            "specs_json": {"slots": slots}});
        let id = connection.post_with("/workers/register", &token, &worker.to_string())["id"].as_u64();
        Self { connection, token, pair, id: id.expect("a worker has an id"), results: Vec::new() }
    }

    fn result(&self, assignment: &Value) -> String {
        let (id, nonce) = (assignment["assignment_id"].as_u64(), assignment["nonce"].as_str());
        let (id, nonce) = (id.expect("an id"), nonce.expect("a nonce"));
        let signature = self.pair.sign(&signed_bytes(id, nonce, Some("h"))).to_text();
        let worker = self.id;
        format!(
            r#"{{"worker_id":{worker},"assignment_id":{id},"nonce":"{nonce}","signature":"{signature}","output":{{"ok":true}},"output_hash":"h"}}"#
        )
    }
}

impl Side for Worker {
    /// Hands in what was taken before and takes the next; what is acknowledged counts.
    fn step(&mut self, batch: usize) -> usize {
        let (id, handed) = (self.id, self.results.len());
        let results = std::mem::take(&mut self.results).join(",");
        let body =
            format!(r#"{{"worker_id":{id},"submit":[{results}],"max":{batch},"start":true,"wait_ms":100}}"#);
        let answer = self.connection.post_with("/jobs/work", &self.token, &body);
        let taken = answer["submitted"].as_array().into_iter().flatten();
        assert!(taken.clone().all(|item| item["status"] == "completed"), "{answer}");
        let assignments = answer["assignments"].as_array().cloned().unwrap_or_default();
        self.results = assignments.iter().map(|assignment| self.result(assignment)).collect();
        handed
    }
}

/// Makes a user and logs it in.
fn user(server: &Server, admin: &mut Connection, (name, role): (&str, &str)) -> String {
    let user = json!({"username": name, "password": "bench-password", "roles": [role]});
    admin.post_with("/users", ADMIN_TOKEN, &user.to_string());
    let login = json!({"username": name, "password": "bench-password"});
    let mut connection = Connection::open(server.address);
    let answer = connection.post_with("/auth/login", "", &login.to_string());
    answer["access_token"].as_str().expect("a token").to_owned()
}
