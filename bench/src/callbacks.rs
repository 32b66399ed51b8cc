//! Durable callbacks per second, beside the same server answering without a store, and beside a bare HTTP server that
//! parses the same JSON, sends the same response and stores nothing.

use crate::{
    connection::{Connection, callbacks_with_steps, report},
    cost::{cpu_by_thread, process_cpu},
    pool::median,
    server::{Server, beside},
    stopwatch::{now, wall_clock},
};
use muster_model::JobId;
use serde_json::Value;
use std::{collections::BTreeMap, net::SocketAddr, process::Command, thread, time::Duration};

const CONNECTIONS: usize = 64;
const DEVICES: usize = 100;
const ROUND: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;
const RUNS: usize = 60;
/// Of the workflow that ships with the agent, each begun and done.
const ALL_STEPS: [&str; 10] = [
    "PREFLIGHT",
    "PREFLIGHT",
    "BOOTSTRAP",
    "BOOTSTRAP",
    "LOGIN_FLOW",
    "LOGIN_FLOW",
    "SCREENSHOT",
    "SCREENSHOT",
    "UPLOAD",
    "UPLOAD",
];

/// Servers to compare; the bare one takes no batches.
const ALL_TARGETS: [Target; 3] = [Target::Durable, Target::WithoutStore, Target::Bare];

/// The way in which nodes report.
#[derive(Clone, Copy)]
struct Load {
    /// Events in one request; one alone goes to the endpoint for one.
    batch: usize,
    /// Jobs that a node takes at once.
    jobs: u32,
    /// Steps that are reported between begin and end of a job.
    steps: &'static [&'static str],
    runs: usize,
    /// Queues of these runs: while the last jobs of a run end, nodes take those of another queue.
    queues: usize,
}

/// Each event in a request of its own.
pub(crate) fn measure() {
    println!(
        "callbacks: {CONNECTIONS} keep-alive connections, each a node of {DEVICES} devices that pulls and reports begin, step and end of every job; the load runs on the same cores; medians of {ROUNDS} rounds in turn"
    );
    compare(&ALL_TARGETS, Load { batch: 1, jobs: 20, steps: &["LOGIN_FLOW"], runs: RUNS, queues: 1 });
}

/// Several events in one request (N25).
pub(crate) fn measure_batches(batch: usize) {
    println!(
        "callbacks in batches: as above, with {batch} events in one request; each node has {DEVICES} slots; durable events"
    );
    println!("  begin, one step and end of every job");
    compare(&ALL_TARGETS[..2], Load { batch, jobs: 100, steps: &["LOGIN_FLOW"], runs: RUNS * 10, queues: 8 });
    println!("  begin, ten reports of steps and end of every job, as with the workflow that ships");
    compare(&ALL_TARGETS[..2], Load { batch, jobs: 100, steps: &ALL_STEPS, runs: RUNS * 10, queues: 8 });
}

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

/// Prints the medians of rounds in turn.
fn compare(targets: &[Target], load: Load) {
    let mut rounds: Vec<Vec<Round>> = targets.iter().map(|_| Vec::new()).collect();
    for _ in 0..ROUNDS {
        for (target, rounds) in targets.iter().zip(&mut rounds) {
            rounds.push(target.round(load));
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

/// The role of the threads of that name.
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

    fn round(self, load: Load) -> Round {
        let data = tempfile::tempdir().expect("a temporary directory");
        let slots = load.jobs.to_string();
        let settings =
            [("MUSTER_RETENTION__HISTORY_DAYS", "1"), ("MUSTER_OPERATIONS__SLOTS", slots.as_str())];
        let server = match self {
            Self::Durable => Server::start(data.path(), "sqlite", &settings),
            Self::WithoutStore => Server::start(data.path(), "memory", &settings),
            Self::Bare => Server::start_command(Command::new(beside("muster-bench")).arg("bare-server")),
        };
        submit(&server, load);
        let (total, threads) = (process_cpu(server.id()), cpu_by_thread(server.id()));
        let begun = now();
        let callbacks = run(server.address, load) as f64;
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

fn submit(server: &Server, load: Load) {
    let mut operator = Connection::open(server.address);
    for run in 0..load.runs {
        let queue = run % load.queues;
        let run = format!(r#"{{"workflow_id":"w","params":{{"KEY":"value"}},"queue":"q{queue}"}}"#);
        operator.post_as_operator("/api/runs", &run);
    }
}

/// Loads a server for one round; gives the number of callbacks that were acknowledged.
fn run(address: SocketAddr, load: Load) -> usize {
    let nodes: Vec<_> = (0..CONNECTIONS).map(|n| thread::spawn(move || node(address, n, load))).collect();
    nodes.into_iter().map(|node| node.join().expect("a node ends")).sum()
}

/// Works until the round is over; gives the number of callbacks that were acknowledged.
fn node(address: SocketAddr, number: usize, load: Load) -> usize {
    let name = format!("PC-{number:02}");
    let mut connection = Connection::open(address);
    let begun = now();
    let mut sent = 0;
    let mut ids = EventIds::of(number);
    let mut ask = report(&name, DEVICES, load.jobs);
    while begun.elapsed() < ROUND {
        let answer = connection.pull(&ask);
        ask = format!(r#"{{"node_id":"{name}","max_jobs":{},"wait_ms":200}}"#, load.jobs);
        let jobs = answer["jobs"].as_array().into_iter().flatten();
        let mut events: Vec<String> =
            jobs.flat_map(|job| callbacks_with_steps(&name, job, &answer["now"], load.steps)).collect();
        if load.batch > 1 {
            let finished = answer["finished_runs"].as_array().into_iter().flatten().filter_map(Value::as_str);
            events.extend(finished.map(|run| run_finished(&name, run, &answer["now"])));
        }
        for events in events.chunks_mut(load.batch) {
            events.iter_mut().for_each(|event| ids.stamp(event));
            send(&mut connection, events);
            sent += events.len();
        }
    }
    sent
}

/// The ids of one node's events: UUIDs of version 7, which begin with the time, as those of agents do.
struct EventIds {
    next: u128,
}

impl EventIds {
    fn of(node: usize) -> Self {
        Self { next: (node as u128) << 32 }
    }

    /// Gives an event the id that it would have if it happened now.
    fn stamp(&mut self, event: &mut String) {
        const BEGIN: &str = r#"{"event_id":""#;
        let end = event[BEGIN.len()..].find('"').expect("an id ends") + BEGIN.len();
        self.next += 1;
        event.replace_range(BEGIN.len()..end, &JobId::new(wall_clock(), self.next).to_string());
    }
}

/// The end of a run at a node, where all devices did their part.
fn run_finished(node: &str, run: &str, now: &Value) -> String {
    format!(
        r#"{{"event_id":"{run}-{node}-finished","type":"run_finished","payload":{{"node_id":"{node}","run_id":"{run}","timestamp":{now},"summary":{{"succeeded":{DEVICES},"failed":0,"timeout":0}}}}}}"#
    )
}

fn send(connection: &mut Connection, events: &[String]) {
    match events {
        [event] => drop(connection.post("/api/nodes/callback", event)),
        events => {
            let body = format!(r#"{{"events":[{}]}}"#, events.join(","));
            let answer = connection.post("/api/nodes/callbacks", &body);
            assert!(!answer.contains(r#""ok":false"#), "{answer}");
        }
    }
}
