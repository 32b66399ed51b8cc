//! Durable callbacks per second, beside the same server answering without a store.

use crate::{
    connection::{Connection, callbacks, report},
    server::Server,
    stopwatch::now,
};
use std::{net::SocketAddr, thread, time::Duration};

const CONNECTIONS: usize = 64;
const DEVICES: usize = 100;
const ROUND: Duration = Duration::from_secs(6);
const ROUNDS: usize = 3;
const RUNS: usize = 60;

pub(crate) fn measure() {
    println!(
        "callbacks: {CONNECTIONS} keep-alive connections, each a node of {DEVICES} devices that pulls and reports begin, step and end of every job; the load runs on the same cores"
    );
    let mut rates: [Vec<f64>; 2] = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for (place, store) in ["sqlite", "memory"].into_iter().enumerate() {
            rates[place].push(rate(store));
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

fn rate(store: &str) -> f64 {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(data.path(), store, &[("MUSTER_RETENTION__HISTORY_DAYS", "1")]);
    let mut operator = Connection::open(server.address);
    for _ in 0..RUNS {
        operator.post_as_operator("/api/runs", r#"{"workflow_id":"w","params":{"KEY":"value"}}"#);
    }
    let address = server.address;
    let begun = now();
    let nodes: Vec<_> = (0..CONNECTIONS).map(|n| thread::spawn(move || node(address, n))).collect();
    let sent: usize = nodes.into_iter().map(|node| node.join().expect("a node ends")).sum();
    sent as f64 / begun.elapsed().as_secs_f64()
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
