//! Time per request of nodes that have secrets of their own, from ten nodes to ten thousand.

use crate::{
    connection::Connection,
    cost::process_cpu,
    pool::median,
    server::{ADMIN_TOKEN, NODE_SECRET, Server},
    stopwatch::{now, percentile},
};
use std::{thread, time::Duration};

const FLEETS: [usize; 2] = [10, 10_000];
const ROUNDS: usize = 3;
const REQUESTS: usize = 10_000;
const CONNECTIONS: usize = 16;

pub(crate) fn measure() {
    println!(
        "secrets: {REQUESTS} pulls without work by ten nodes in turn on one connection, among nodes with secrets of their own; medians of {ROUNDS} rounds in turn"
    );
    let servers = FLEETS.map(Fleet::start);
    let mut rounds: [Vec<Round>; 2] = Default::default();
    for _ in 0..ROUNDS {
        for (fleet, rounds) in servers.iter().zip(&mut rounds) {
            rounds.push(fleet.round());
        }
    }
    let [few, many] = rounds.map(|rounds| Round {
        time: median(rounds.iter().map(|round| round.time).collect()),
        cpu: median(rounds.iter().map(|round| round.cpu).collect()),
    });
    for (nodes, round) in FLEETS.iter().zip([&few, &many]) {
        println!(
            "  {nodes:>6} nodes: {:>7.1} µs per request, p50   {:>7.1} µs of a core",
            round.time, round.cpu
        );
    }
    println!(
        "  ratio of the times {:.2}, of the server's work {:.2}",
        many.time / few.time,
        many.cpu / few.cpu
    );
}

/// A server with nodes that have secrets of their own.
struct Fleet {
    server: Server,
    senders: Vec<Sender>,
    _data: tempfile::TempDir,
}

/// Microseconds per request.
struct Round {
    time: f64,
    cpu: f64,
}

/// A node and its secret.
struct Sender {
    body: String,
    secret: String,
}

impl Fleet {
    fn start(nodes: usize) -> Self {
        let data = tempfile::tempdir().expect("a temporary directory");
        let server = Server::start(data.path(), "sqlite", &[]);
        let address = server.address;
        let enrolling: Vec<_> = (0..CONNECTIONS)
            .map(|first| {
                let numbers = (first..nodes).step_by(CONNECTIONS);
                thread::spawn(move || {
                    let mut connection = Connection::open(address);
                    numbers.map(|number| enrol(&mut connection, number)).collect::<Vec<_>>()
                })
            })
            .collect();
        let senders = enrolling.into_iter().flat_map(|thread| thread.join().expect("nodes enrol"));
        let mut senders: Vec<Sender> = senders.collect();
        senders.truncate(FLEETS[0]);
        Self { server, senders, _data: data }
    }

    fn round(&self) -> Round {
        let mut connection = Connection::open(self.server.address);
        let before = process_cpu(self.server.id());
        let mut times: Vec<Duration> = (0..REQUESTS)
            .map(|number| {
                let sender = &self.senders[number % self.senders.len()];
                let begun = now();
                connection.post_text("/api/nodes/pull", &sender.secret, &sender.body);
                begun.elapsed()
            })
            .collect();
        let cpu = (process_cpu(self.server.id()) - before).as_secs_f64() * 1e6 / REQUESTS as f64;
        Round { time: percentile(&mut times, 50).as_secs_f64() * 1e6, cpu }
    }
}

fn enrol(connection: &mut Connection, number: usize) -> Sender {
    let body = format!(r#"{{"node_id":"PC-{number:05}","max_jobs":0}}"#);
    connection.post_text("/api/nodes/pull", NODE_SECRET, &body);
    let path = format!("/api/nodes/PC-{number:05}/secret");
    let answer = connection.post_with(&path, ADMIN_TOKEN, "{}");
    Sender { body, secret: answer["secret"].as_str().expect("a secret").to_owned() }
}
