//! Durable jobs per second through the pool, from submission over lease to result, beside Redis streams that sync every
//! write, driven the same way in the same run.

use super::{
    connection::Connection,
    rivals::redis,
    server::{ADMIN_TOKEN, Server},
    stopwatch::{busy, now},
};
use muster_contract_pool::{
    Assignment, BatchRequest, JobRequest, RegisterRequest, SubmitRequest, SubmittedItem, WorkAnswer,
    WorkRequest, WorkerSummary, to_bytes,
};
use muster_proof::{KeyPair, PublicKey, signed_bytes};
use serde::Serialize;
use serde_json::json;
use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};
use tempfile::TempDir;

/// Threads that hand in jobs, and as many that work them off.
pub(crate) const PAIRS: usize = 16;
const ROUNDS: usize = 3;
/// Longest time that all jobs of a run may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// Payload of every job, ours and theirs.
pub(crate) const PAYLOAD: &str =
    r#"{"prompt":"hello","steps":20,"seed":1234567,"model":"a-model-of-some-kind"}"#;

/// Load: jobs in one request, and in all.
#[derive(Clone, Copy)]
pub(crate) struct Drive {
    pub(crate) batch: usize,
    pub(crate) jobs: usize,
}

pub(crate) fn measure() {
    println!(
        "pool: {PAIRS} connections hand in jobs, {PAIRS} take and finish them (signed results, verified one by one); the load runs on the same cores; median of {ROUNDS} rounds"
    );
    let cores = thread::available_parallelism().map_or(1, usize::from) as f64;
    let signature = signature_cost();
    for drive in [Drive { batch: 1, jobs: 60_000 }, Drive { batch: 100, jobs: 400_000 }] {
        let mut rates: [Vec<f64>; 3] = Default::default();
        for _ in 0..ROUNDS {
            rates[0].push(Stage::set(drive, "sqlite").rate());
            rates[1].push(Stage::set(drive, "memory").rate());
            rates[2].push(redis::rate(drive).unwrap_or(f64::NAN));
        }
        let [durable, bare, redis] = rates.map(median);
        let unsigned = 1.0 / (1.0 / durable - signature / cores).max(f64::EPSILON);
        println!(
            "  {} in one request",
            if drive.batch == 1 { "one job".into() } else { format!("{} jobs", drive.batch) }
        );
        println!("    muster, durable (SQLite, fsync before every answer)  {durable:>9.0} jobs/s");
        println!(
            "    the same server without a store                      {bare:>9.0} jobs/s   ratio {:.2}",
            durable / bare
        );
        println!(
            "    Redis streams, appendfsync always, no signatures     {redis:>9.0} jobs/s   ratio {:.2}",
            durable / redis
        );
        println!(
            "    without what signing and verifying cost ({:.0} us a job)  {unsigned:>8.0} jobs/s   ratio {:.2} (computed)",
            signature * 1e6,
            unsigned / redis
        );
    }
}

/// Seconds of one core that the signature of one job costs, the worker's and ours together.
pub(crate) fn signature_cost() -> f64 {
    const TIMES: u32 = 5_000;
    let pair = KeyPair::from_seed(&[7; 32]);
    let key: PublicKey = pair.public_key();
    let (took, valid) = busy(|| {
        (0..TIMES).all(|n| {
            let message = signed_bytes(u64::from(n), "0123456789abcdef0123456789abcdef", Some("h"));
            key.verify(&message, &pair.sign(&message))
        })
    });
    assert!(valid, "a signature verifies");
    took.as_secs_f64() / f64::from(TIMES)
}

/// The middle one.
pub(crate) fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

/// One end of a queue.
pub(crate) trait Side: Send {
    /// Hands in, or works off, at most so many jobs in one request; says how many.
    fn step(&mut self, batch: usize) -> usize;
}

impl Side for Box<dyn Side> {
    fn step(&mut self, batch: usize) -> usize {
        (**self).step(batch)
    }
}

/// Jobs per second from the first submission to the last acknowledged result; how long a worker then waits for more does
/// not count.
pub(crate) fn run<P: Side + 'static, W: Side + 'static>(
    drive: Drive,
    producers: Vec<P>,
    workers: Vec<W>,
) -> f64 {
    let done = Arc::new(AtomicUsize::new(0));
    let (end, ends) = mpsc::channel();
    let (begun, left) = (now(), Arc::new(AtomicUsize::new(drive.jobs)));
    let producing: Vec<_> = producers
        .into_iter()
        .map(|mut producer| {
            let left = Arc::clone(&left);
            thread::spawn(move || {
                let take = |left: usize| (left > 0).then(|| left.saturating_sub(drive.batch));
                while let Ok(left) = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) {
                    producer.step(drive.batch.min(left));
                }
            })
        })
        .collect();
    let total = drive.jobs;
    let working: Vec<_> = workers
        .into_iter()
        .map(|mut worker| {
            let (done, end) = (Arc::clone(&done), end.clone());
            thread::spawn(move || {
                while done.load(Ordering::Relaxed) < total {
                    let count = worker.step(drive.batch);
                    if count > 0 && done.fetch_add(count, Ordering::Relaxed) + count == total {
                        end.send(begun.elapsed()).expect("the measurement waits");
                    }
                }
            })
        })
        .collect();
    // A thread that failed leaves jobs undone, for which the others would wait for ever.
    drop(end);
    let took = ends.recv_timeout(PATIENCE).expect("all jobs are done in time");
    for thread in producing.into_iter().chain(working) {
        thread.join().expect("the load goes through");
    }
    assert_eq!(done.load(Ordering::Relaxed), total, "every job is done once");
    total as f64 / took.as_secs_f64()
}

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

    /// Both ends of the queue. The server lives for as long as this value does.
    pub(crate) fn sides(&mut self) -> [Vec<Box<dyn Side>>; 2] {
        let producers = self.producers.drain(..).map(|producer| Box::new(producer) as Box<dyn Side>);
        let workers = self.workers.drain(..).map(|worker| Box::new(worker) as Box<dyn Side>);
        [producers.collect(), workers.collect()]
    }

    /// Jobs per second. The server lives for as long as this value does.
    pub(crate) fn rate(&mut self) -> f64 {
        let (producers, workers) = (std::mem::take(&mut self.producers), std::mem::take(&mut self.workers));
        run(self.drive, producers, workers)
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
