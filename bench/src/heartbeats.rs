//! Thousands of simulation workers on one server, and whether a task still reaches one of them at once.

use crate::{
    connection::Connection,
    cost::{Cost, process_cpu},
    server::{ENROL_SECRET, Server},
    stopwatch::{now, percentile},
};
use serde_json::Value;
use std::{
    sync::mpsc,
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

const SPAN: Duration = Duration::from_secs(20);
/// Each keeps one connection. A connection has one heartbeat under way: these allow 20,000 a second as long as a response
/// takes less than 3 ms.
const THREADS: usize = 64;
const DISPATCHES: usize = 200;

pub(crate) fn measure(workers: usize) {
    let data = tempfile::tempdir().expect("a temporary directory");
    let server = Server::start(data.path(), "sqlite", &[]);
    let tokens = register(&server, workers);
    println!(
        "heartbeats: {workers} workers, each every second for {} s, on one server; the load runs on the same cores",
        SPAN.as_secs()
    );
    let (mut answers, mut dispatches) = (Vec::new(), Vec::new());
    let load_before = process_cpu(std::process::id());
    let cost = Cost::watch(server.id(), || {
        let beating = beat(&server, tokens);
        dispatches = dispatch(&server);
        answers = beating.into_iter().flat_map(|thread| thread.join().expect("the beats end")).collect();
    });
    let rate = answers.len() as f64 / cost.span.as_secs_f64();
    println!("  server {}   {rate:.0} heartbeats/s", cost.words());
    println!(
        "  {:.1} µs of a core per heartbeat, everything in; the load takes {:.1} µs more",
        cost.cpu.as_secs_f64() * 1e6 / answers.len() as f64,
        (process_cpu(std::process::id()) - load_before).as_secs_f64() * 1e6 / answers.len() as f64
    );
    line("answer, from the moment it was due", &mut answers);
    line("dispatch, from the submission of a session to its task at a waiting worker", &mut dispatches);
}

fn line(what: &str, samples: &mut [Duration]) {
    let millis = |percent| percentile(&mut samples.to_vec(), percent).as_secs_f64() * 1000.0;
    println!("  {what}: p50 {:.2} ms   p99 {:.2} ms   ({} samples)", millis(50), millis(99), samples.len());
}

/// All workers, by name, with their tokens.
fn register(server: &Server, workers: usize) -> Vec<(String, String)> {
    let address = server.address;
    let registering = (0..THREADS).map(|first| {
        thread::spawn(move || {
            let mut connection = Connection::open(address);
            let numbers = (first..workers).step_by(THREADS);
            numbers.map(|n| enrol(&mut connection, &format!("W{n:05}"))).collect::<Vec<_>>()
        })
    });
    let registering: Vec<JoinHandle<_>> = registering.collect();
    registering.into_iter().flat_map(|thread| thread.join().expect("workers register")).collect()
}

fn enrol(connection: &mut Connection, worker: &str) -> (String, String) {
    let body = format!(
        r#"{{"workerId":"{worker}","role":"render","capabilities":{{"gpu":"none","cameras":1}},"currentSession":null}}"#
    );
    let answer = connection.post_with("/api/v1/workers/register", ENROL_SECRET, &body);
    (worker.to_owned(), answer["workerToken"].as_str().expect("a token").to_owned())
}

/// Has everybody beat once a second, evenly; answers how long each answer took from the moment its beat was due, so
/// that a server which falls behind cannot hide it.
fn beat(server: &Server, workers: Vec<(String, String)>) -> Vec<JoinHandle<Vec<Duration>>> {
    let (address, begun) = (server.address, now());
    let share = workers.len().div_ceil(THREADS);
    let beating = workers.chunks(share).map(|workers| {
        let workers = workers.to_vec();
        thread::spawn(move || {
            let mut connection = Connection::open(address);
            let mut samples = Vec::new();
            for round in 0..SPAN.as_secs() {
                for (place, (worker, token)) in workers.iter().enumerate() {
                    let fraction = place as f64 / workers.len() as f64;
                    let due = begun + Duration::from_secs_f64(round as f64 + fraction);
                    wait_until(due);
                    let path = format!("/api/v1/workers/{worker}/heartbeat");
                    connection.post_text(&path, token, BEAT);
                    samples.push(now().duration_since(due));
                }
            }
            samples
        })
    });
    beating.collect()
}

/// Submits sessions of one range while one more worker waits for it.
fn dispatch(server: &Server) -> Vec<Duration> {
    let (address, begun) = (server.address, now());
    let mut operator = Connection::open(address);
    let (worker, token) = enrol(&mut operator, "dispatched");
    let (give, tasks) = mpsc::channel::<(Instant, Value)>();
    // It asks when it holds nothing: with its slot full it would be told the same task again.
    let (may_ask, asks) = mpsc::channel::<()>();
    let (asker, asker_token) = (worker.clone(), token.clone());
    let waiting = thread::spawn(move || {
        let mut connection = Connection::open(address);
        let path = format!("/api/v1/workers/{asker}/tasks?wait_ms=10000");
        for () in asks {
            let task = loop {
                let answer = connection.get_with(&path, &asker_token);
                if answer["task"].is_object() {
                    break answer["task"].clone();
                }
            };
            give.send((now(), task)).expect("the operator listens");
        }
    });
    let mut samples = Vec::new();
    for number in 0..DISPATCHES {
        operator.post_with(&format!("/api/v1/workers/{worker}/heartbeat"), &token, BEAT);
        may_ask.send(()).expect("the asker listens");
        // Lets the question reach the server, where it waits as in the field.
        wait_until(
            (begun + SPAN.mul_f64(number as f64 / DISPATCHES as f64)).max(now() + Duration::from_millis(5)),
        );
        let session = format!(
            r#"{{"sessionId":"s{number}","totalFrames":10,"framesPerTask":10,"scenario":{{}},"cameras":[],"qualityMode":"strict"}}"#
        );
        let submitted = now();
        operator.post_as_operator("/api/v1/sessions", &session);
        let (got, task) = tasks.recv().expect("a task");
        samples.push(got.duration_since(submitted));
        complete(&mut operator, &worker, &token, &task);
    }
    drop(may_ask);
    waiting.join().expect("the asker ends");
    samples
}

fn complete(connection: &mut Connection, worker: &str, token: &str, task: &Value) {
    let fragment = format!(
        r#"{{"frameRange":{},"globalIdChunkId":{},"workerId":"{worker}","cameras":[],"statistics":{{"frames":10}},"validationSummary":{{}}}}"#,
        task["frameRange"], task["globalIdChunk"]["chunkId"]
    );
    let body = format!(
        r#"{{"workerId":"{worker}","attempt":{},"manifestFragment":{fragment},"poseFiles":[],"metricsSnapshot":{{}}}}"#,
        task["attempt"]
    );
    let path = format!("/api/v1/tasks/{}/complete", task["taskId"].as_str().expect("a task has an id"));
    connection.post_with(&path, token, &body);
}

fn wait_until(moment: Instant) {
    thread::sleep(moment.saturating_duration_since(now()));
}

const BEAT: &str = r#"{"queueRatio":0.3,"gpuUsage":0.5,"lastFrame":1,"status":"ok","rttMs":3}"#;
