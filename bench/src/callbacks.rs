//! Durable callbacks per second, beside the same server answering without a store, and beside a bare HTTP server that
//! parses the same JSON, sends the same response and stores nothing.

use crate::{
    connection::{Connection, callbacks, report},
    cost::{cpu_by_thread, process_cpu},
    pool::median,
    server::{Server, beside},
    stopwatch::now,
};
use std::{collections::BTreeMap, net::SocketAddr, process::Command, thread, time::Duration};

const CONNECTIONS: usize = 64;
const DEVICES: usize = 100;
const ROUND: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;
const RUNS: usize = 60;

/// A server under load.
#[derive(Clone, Copy)]
enum Target {
    Durable,
    WithoutStore,
    Bare,
}

/// One measurement.
struct Round {
    /// Callbacks per second.
    rate: f64,
    /// Microseconds of a core for one callback, its share of the pulls included.
    cpu: f64,
    /// The same by thread.
    threads: BTreeMap<String, f64>,
}

pub(crate) fn measure() {
    println!(
        "callbacks: {CONNECTIONS} keep-alive connections, each a node of {DEVICES} devices that pulls and reports begin, step and end of every job; the load runs on the same cores; medians of {ROUNDS} rounds in turn"
    );
    let targets = [Target::Durable, Target::WithoutStore, Target::Bare];
    let mut rounds: [Vec<Round>; 3] = Default::default();
    for _ in 0..ROUNDS {
        for (target, rounds) in targets.iter().zip(&mut rounds) {
            rounds.push(target.round());
        }
    }
    let durable = rate(&rounds[0]);
    for (target, rounds) in targets.iter().zip(&rounds) {
        println!(
            "  {:<50} {:>7.0}/s   durable is {:.2} of it   {}",
            target.name(),
            rate(rounds),
            durable / rate(rounds),
            costs(rounds)
        );
    }
}

fn rate(rounds: &[Round]) -> f64 {
    median(rounds.iter().map(|round| round.rate).collect())
}

/// The medians in words.
fn costs(rounds: &[Round]) -> String {
    let total = median(rounds.iter().map(|round| round.cpu).collect());
    let mut threads = Vec::new();
    for name in rounds.first().into_iter().flat_map(|round| round.threads.keys()) {
        let cost = |round: &Round| round.threads.get(name).copied().unwrap_or_default();
        let cost = median(rounds.iter().map(cost).collect());
        if cost >= 0.1 {
            threads.push(format!("{} {cost:.1}", role(name)));
        }
    }
    format!("{total:.1} µs of a core per callback: {}", threads.join(", "))
}

/// What the threads of that name do.
pub(crate) fn role(thread: &str) -> &str {
    match thread {
        "tokio-rt-worker" => "HTTP",
        "muster-driver" => "engine",
        "muster-commit" => "commit",
        other => other,
    }
}

impl Target {
    fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable (SQLite, fsync before every answer)",
            Self::WithoutStore => "the same server without a store",
            Self::Bare => "bare hyper: the same JSON parsed, nothing stored",
        }
    }

    fn round(self) -> Round {
        let data = tempfile::tempdir().expect("a temporary directory");
        let settings = [("MUSTER_RETENTION__HISTORY_DAYS", "1")];
        let server = match self {
            Self::Durable => Server::start(data.path(), "sqlite", &settings),
            Self::WithoutStore => Server::start(data.path(), "memory", &settings),
            Self::Bare => Server::start_command(Command::new(beside("muster-bench")).arg("bare-server")),
        };
        submit(&server);
        let (total, threads) = (process_cpu(server.id()), cpu_by_thread(server.id()));
        let begun = now();
        let callbacks = load(server.address) as f64;
        let rate = callbacks / begun.elapsed().as_secs_f64();
        let per_callback =
            |after: Duration, before: Duration| (after - before).as_secs_f64() * 1e6 / callbacks;
        let spent = |(name, after): (String, Duration)| {
            let cost = per_callback(after, threads.get(&name).copied().unwrap_or_default());
            (name, cost)
        };
        Round {
            rate,
            cpu: per_callback(process_cpu(server.id()), total),
            threads: cpu_by_thread(server.id()).into_iter().map(spent).collect(),
        }
    }
}

fn submit(server: &Server) {
    let mut operator = Connection::open(server.address);
    for _ in 0..RUNS {
        operator.post_as_operator("/api/runs", r#"{"workflow_id":"w","params":{"KEY":"value"}}"#);
    }
}

/// Loads a server for one round; gives the number of callbacks that were acknowledged.
fn load(address: SocketAddr) -> usize {
    let nodes: Vec<_> = (0..CONNECTIONS).map(|n| thread::spawn(move || node(address, n))).collect();
    nodes.into_iter().map(|node| node.join().expect("a node ends")).sum()
}

/// Works until the round is over; gives the number of callbacks that were acknowledged.
fn node(address: SocketAddr, number: usize) -> usize {
    let name = format!("PC-{number:02}");
    let mut connection = Connection::open(address);
    let begun = now();
    let mut sent = 0;
    let mut ask = report(&name, DEVICES, 20);
    while begun.elapsed() < ROUND {
        let answer = connection.pull(&ask);
        ask = format!(r#"{{"node_id":"{name}","max_jobs":20,"wait_ms":200}}"#);
        for job in answer["jobs"].as_array().into_iter().flatten() {
            for callback in callbacks(&name, job, &answer["now"]) {
                connection.post("/api/nodes/callback", &callback);
                sent += 1;
            }
        }
    }
    sent
}
