//! Durable callbacks per second, beside the same server answering without a store.

use crate::{
    connection::{Connection, callbacks_with_steps, report},
    server::Server,
    stopwatch::now,
};
use serde_json::Value;
use std::{net::SocketAddr, thread, time::Duration};

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
        "callbacks: {CONNECTIONS} keep-alive connections, each a node of {DEVICES} devices that pulls and reports begin, step and end of every job; the load runs on the same cores"
    );
    compare(Load { batch: 1, jobs: 20, steps: &["LOGIN_FLOW"], runs: RUNS, queues: 1 });
}

/// Several events in one request (N25).
pub(crate) fn measure_batches(batch: usize) {
    println!(
        "callbacks in batches: as above, with {batch} events in one request; each node has {DEVICES} slots; durable events"
    );
    println!("  begin, one step and end of every job");
    compare(Load { batch, jobs: 100, steps: &["LOGIN_FLOW"], runs: RUNS * 10, queues: 8 });
    println!("  begin, ten reports of steps and end of every job, as with the workflow that ships");
    compare(Load { batch, jobs: 100, steps: &ALL_STEPS, runs: RUNS * 10, queues: 8 });
}

fn compare(load: Load) {
    let mut rates: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (place, store) in ["sqlite", "memory"].into_iter().enumerate() {
            rates[place].push(rate(store, load));
        }
    }
    let [durable, bare] = rates.map(|mut rates| {
        rates.sort_by(f64::total_cmp);
        rates[rates.len() / 2]
    });
    println!("  durable (SQLite, fsync before every answer)  {durable:>9.0}/s");
    println!("  the same server without a store              {bare:>9.0}/s");
    println!(
        "  ratio                                        {:>9.2}   (median of {ROUNDS} rounds each)",
        durable / bare
    );
}

fn rate(store: &str, load: Load) -> f64 {
    let data = tempfile::tempdir().expect("a temporary directory");
    let slots = load.jobs.to_string();
    let settings = [("MUSTER_RETENTION__HISTORY_DAYS", "1"), ("MUSTER_OPERATIONS__SLOTS", slots.as_str())];
    let server = Server::start(data.path(), store, &settings);
    let mut operator = Connection::open(server.address);
    for run in 0..load.runs {
        let queue = run % load.queues;
        let run = format!(r#"{{"workflow_id":"w","params":{{"KEY":"value"}},"queue":"q{queue}"}}"#);
        operator.post_as_operator("/api/runs", &run);
    }
    let address = server.address;
    let begun = now();
    let nodes: Vec<_> = (0..CONNECTIONS).map(|n| thread::spawn(move || node(address, n, load))).collect();
    let sent: usize = nodes.into_iter().map(|node| node.join().expect("a node ends")).sum();
    sent as f64 / begun.elapsed().as_secs_f64()
}

/// Works until the round is over; gives the number of callbacks that were acknowledged.
fn node(address: SocketAddr, number: usize, load: Load) -> usize {
    let name = format!("PC-{number:02}");
    let mut connection = Connection::open(address);
    let begun = now();
    let mut sent = 0;
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
        for events in events.chunks(load.batch) {
            send(&mut connection, events);
            sent += events.len();
        }
    }
    sent
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
