//! Nodes that work at a steady rate.

use super::Scale;
use crate::{
    connection::{Connection, callbacks, report},
    stopwatch::now,
};
use serde_json::Value;
use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

const DEVICES_PER_NODE: usize = 100;
const THREADS: usize = 4;
/// Leased, confirmed, one step, the attempt's end, the task's end.
const ENTRIES_PER_TASK: usize = 5;
/// A node takes so many when it is its turn.
const TASKS_PER_VISIT: usize = 5;
/// A visit for nothing takes this long.
const GLANCE: Duration = Duration::from_millis(5);
/// Work that could not be had is made up for, up to this much.
const DEBT: Duration = Duration::from_secs(5);
/// Of so many attempts one fails.
const FAILS_EVERY: usize = 50;

/// Nodes at work, until they are stopped.
pub(super) struct Fleet {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    nodes: usize,
}

impl Fleet {
    pub(super) fn start(address: SocketAddr, scale: &Scale) -> Self {
        let nodes = scale.devices.div_ceil(DEVICES_PER_NODE);
        let tasks_per_second = (scale.events / ENTRIES_PER_TASK).max(1);
        submit(address, scale, tasks_per_second);
        let stop = Arc::new(AtomicBool::new(false));
        let pace = Duration::from_secs_f64(THREADS as f64 / tasks_per_second as f64);
        let names: Vec<String> = (0..nodes).map(|n| format!("PC-{n:03}")).collect();
        let work = |names: &[String]| {
            let (names, stop) = (names.to_vec(), Arc::clone(&stop));
            thread::spawn(move || work(address, &names, pace, &stop))
        };
        let threads = names.chunks(nodes.div_ceil(THREADS)).map(work).collect();
        Self { stop, threads, nodes }
    }

    pub(super) fn nodes(&self) -> usize {
        self.nodes
    }

    pub(super) fn stop(self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads {
            thread.join().expect("the nodes stop");
        }
    }
}

/// Enough runs over all devices for the whole measurement.
fn submit(address: SocketAddr, scale: &Scale, tasks_per_second: usize) {
    let mut operator = Connection::open(address);
    let seconds = scale.seconds as usize + 200;
    for _ in 0..=seconds * tasks_per_second / scale.devices {
        operator.post_as_operator("/api/runs", r#"{"workflow_id":"w","params":{}}"#);
    }
}

/// Visits the server for one node after the other: ends what that node had, and takes more, a task per `pace`.
fn work(address: SocketAddr, names: &[String], pace: Duration, stop: &AtomicBool) {
    let mut connection = Connection::open(address);
    for name in names {
        connection.pull(&report(name, DEVICES_PER_NODE, 0));
    }
    let mut held: Vec<Vec<[String; 3]>> = vec![Vec::new(); names.len()];
    let (mut due, mut ended) = (now(), 0);
    for place in (0..names.len()).cycle().take_while(|_| !stop.load(Ordering::Relaxed)) {
        for [_, step, end] in held[place].drain(..) {
            ended += 1;
            connection.post("/api/nodes/callback", &step);
            connection.post("/api/nodes/callback", &outcome(&end, ended));
        }
        held[place] = take(&mut connection, &names[place]);
        // While a run ends, many nodes get little: what they left is taken from the next ones, or later.
        due = (due + (pace * held[place].len() as u32).max(GLANCE)).max(now() - DEBT);
        thread::sleep(due.saturating_duration_since(now()));
    }
}

fn take(connection: &mut Connection, name: &str) -> Vec<[String; 3]> {
    let ask = format!(r#"{{"node_id":"{name}","max_jobs":{TASKS_PER_VISIT}}}"#);
    let answer = connection.pull(&ask);
    let jobs: &[Value] = answer["jobs"].as_array().map_or(&[], Vec::as_slice);
    let told: Vec<_> = jobs.iter().map(|job| callbacks(name, job, &answer["now"])).collect();
    for [begun, ..] in &told {
        connection.post("/api/nodes/callback", begun);
    }
    told
}

fn outcome(end: &str, number: usize) -> String {
    match number % FAILS_EVERY {
        0 => end.replace(
            r#""status":"succeeded""#,
            r#""status":"failed","failure_reason":"upload_error","error_message":"the disk is full""#,
        ),
        _ => end.to_owned(),
    }
}
