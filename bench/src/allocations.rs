//! Allocations per callback by thread, counted in a server that differs from `muster` in its allocator alone.

use crate::{
    callbacks::role,
    connection::{Connection, callbacks, report},
    server::{Server, beside, serve},
};
use std::{
    collections::BTreeMap,
    io::{BufRead, Write},
    process::Stdio,
    thread,
};

const NODES: usize = 64;
const JOBS: u32 = 20;
const ROUNDS: usize = 10;

pub(crate) fn measure() {
    let data = tempfile::tempdir().expect("a temporary directory");
    let mut command = serve(&beside("muster-counted"), data.path(), "sqlite");
    let mut server = Server::start_command(command.stdin(Stdio::piped()));
    let mut operator = Connection::open(server.address);
    for _ in 0..ROUNDS * JOBS as usize / DEVICES + 1 {
        operator.post_as_operator("/api/runs", r#"{"workflow_id":"w","params":{"KEY":"value"}}"#);
    }
    let mut nodes: Vec<Node> = (0..NODES).map(|number| Node::new(&server, number)).collect();
    let (mut allocations, mut sent) = (BTreeMap::<String, u64>::new(), 0);
    for round in 0..=ROUNDS {
        let callbacks: Vec<_> = nodes.iter_mut().map(Node::take).collect();
        let before = counts(&mut server);
        let count = post(&mut nodes, callbacks);
        let after = counts(&mut server);
        // The first round fills caches and pools.
        if round > 0 {
            sent += count;
            for (thread, count) in after {
                let before = before.get(&thread).copied().unwrap_or_default();
                *allocations.entry(thread).or_default() += count - before;
            }
        }
    }
    println!(
        "allocations: {sent} callbacks on {NODES} connections, durable (SQLite); growing counts as an allocation; pulls not counted"
    );
    let per_callback = |count: u64| count as f64 / sent as f64;
    let threads = allocations.iter().filter(|(_, count)| per_callback(**count) >= 0.05);
    let threads = threads.map(|(thread, count)| format!("{} {:.1}", role(thread), per_callback(*count)));
    println!(
        "  {:.1} per callback: {}",
        per_callback(allocations.values().sum()),
        threads.collect::<Vec<_>>().join(", ")
    );
}

struct Node {
    name: String,
    connection: Connection,
    ask: String,
}

impl Node {
    fn new(server: &Server, number: usize) -> Self {
        let name = format!("PC-{number:02}");
        let ask = report(&name, DEVICES, JOBS);
        Self { name, connection: Connection::open(server.address), ask }
    }

    /// Pulls jobs; gives their callbacks.
    fn take(&mut self) -> Vec<String> {
        let answer = self.connection.pull(&self.ask);
        self.ask = format!(r#"{{"node_id":"{}","max_jobs":{JOBS},"wait_ms":1000}}"#, self.name);
        let jobs = answer["jobs"].as_array().expect("a list of jobs");
        jobs.iter().flat_map(|job| callbacks(&self.name, job, &answer["now"])).collect()
    }
}

/// Posts everybody's callbacks at the same time; gives their number.
fn post(nodes: &mut [Node], callbacks: Vec<Vec<String>>) -> usize {
    let count = callbacks.iter().map(Vec::len).sum();
    thread::scope(|scope| {
        for (node, callbacks) in nodes.iter_mut().zip(callbacks) {
            scope.spawn(move || {
                for callback in callbacks {
                    node.connection.post("/api/nodes/callback", &callback);
                }
            });
        }
    });
    count
}

/// Allocations so far, by thread: `muster-counted` prints them for each line that it gets.
fn counts(server: &mut Server) -> BTreeMap<String, u64> {
    server.child.stdin.as_mut().expect("it was piped").write_all(b"\n").expect("it reads");
    let mut line = String::new();
    server.output.read_line(&mut line).expect("it answers");
    serde_json::from_str(&line).expect("counts as JSON")
}

/// Devices of one node.
const DEVICES: usize = 100;
