//! The load of a fleet: nodes, a PC that claims over RPC, clients, an operator; and a ledger of all that was promised to them.

pub mod check;
pub mod jobs;
pub mod sessions;

use crate::{Answer, Client, Dice, Event, FAILURE_REASONS, FakeNode, Request};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    io,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
    thread::{self, Scope},
    time::Duration,
};

/// A server that is busy says so and is asked again, as one that is gone.
pub(crate) fn patient(answer: io::Result<Answer>) -> io::Result<Answer> {
    let answer = answer?;
    if answer.status == 503 {
        assert!(answer.header("retry-after").is_some(), "{answer:?}");
        return Err(io::ErrorKind::ResourceBusy.into());
    }
    Ok(answer)
}

const PAUSE: Duration = Duration::from_millis(10);

/// Everything acknowledged so far, by all callers.
#[derive(Debug, Default)]
pub struct Ledger {
    phase: AtomicU8,
    pulls: AtomicU64,
    numbers: AtomicU64,
    backlog: AtomicU64,
    acked: Mutex<Acked>,
}

/// Everything that the server acknowledged.
#[derive(Clone, Debug, Default)]
pub struct Acked {
    /// Runs, by id.
    pub runs: Vec<String>,
    /// Runs that were cancelled.
    pub cancelled: Vec<String>,
    /// Callbacks, with what was answered.
    pub callbacks: Vec<(Event, Value)>,
    /// Rows ended over RPC, with the status they were said to have and the attempt.
    pub ended: Vec<(String, String, u64)>,
    /// Jobs of the pool, by id, each with the number in it.
    pub jobs: Vec<(u64, u64)>,
    /// Sessions of frames, by id.
    pub sessions: Vec<String>,
}

/// Phase of the load, which tells the clients what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Everything.
    Loading = 0,
    /// End what there is.
    Draining = 1,
    /// Nothing more.
    Over = 2,
}

/// Sends everybody home, also when a check fails.
#[derive(Debug)]
pub struct End<'l>(&'l Ledger);

impl Ledger {
    /// Current phase.
    pub fn phase(&self) -> Phase {
        match self.phase.load(Ordering::SeqCst) {
            0 => Phase::Loading,
            1 => Phase::Draining,
            _ => Phase::Over,
        }
    }

    /// Has them do something else.
    pub fn set_phase(&self, phase: Phase) {
        self.phase.store(phase as u8, Ordering::SeqCst);
    }

    /// Sends everybody home at the end of a scope.
    #[must_use]
    pub fn end_with_scope(&self) -> End<'_> {
        End(self)
    }

    /// Everything acknowledged so far.
    pub fn acked(&self) -> MutexGuard<'_, Acked> {
        self.acked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells clients how many runs are waiting: they hand in no more while it is many.
    pub fn set_backlog(&self, runs: u64) {
        self.backlog.store(runs, Ordering::Relaxed);
    }

    pub(crate) fn is_backlog_long(&self) -> bool {
        self.backlog.load(Ordering::Relaxed) > BACKLOG_MAX
    }

    /// A number that nobody had before.
    pub fn next_number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn count_pull(&self) {
        self.pulls.fetch_add(1, Ordering::Relaxed);
    }

    /// Summary of the acknowledged load.
    #[must_use]
    pub fn summary(&self) -> String {
        let acked = self.acked();
        format!(
            "{} runs, {} cancels, {} callbacks, {} RPC ends, {} jobs and {} sessions acknowledged, {} pulls answered",
            acked.runs.len(),
            acked.cancelled.len(),
            acked.callbacks.len(),
            acked.ended.len(),
            acked.jobs.len(),
            acked.sessions.len(),
            self.pulls.load(Ordering::Relaxed)
        )
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.set_phase(Phase::Over);
    }
}

/// So many are worked off within a minute.
const BACKLOG_MAX: u64 = 60;

/// Clients of one server or cluster, by their right.
#[derive(Clone, Debug)]
pub struct Clients {
    /// With the secret that nodes share.
    pub node: Client,
    /// With every operator right.
    pub admin: Client,
}

/// Starts all callers; they go home when the ledger says so.
pub fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    clients: &Clients,
    ledger: &'scope Ledger,
    dice: &mut Dice,
) {
    let Clients { node, admin } = clients;
    for (number, name) in NODES.into_iter().enumerate() {
        let is_batching = number % 2 == 1;
        let node = FakeNode::new(node.clone(), name, 8);
        let node = Node { is_batching, ..Node::new(node, ledger, dice.split()) };
        scope.spawn(move || node.work());
    }
    for name in ["PC-R1", "PC-R2"] {
        let claimer = Claimer { node: FakeNode::new(node.clone(), name, 6), ledger, dice: dice.split() };
        scope.spawn(move || claimer.work());
    }
    for name in ["alice", "bob"] {
        let submitter = Submitter { name, client: admin.clone(), ledger, dice: dice.split() };
        scope.spawn(move || submitter.work());
    }
    let client = admin.clone();
    scope.spawn(move || put_devices_back(&client, ledger));
    let client = admin.clone();
    scope.spawn(move || watch(&client, ledger));
}

/// A node with a spool: what it has to say is said in order, until it is taken.
struct Node<'l> {
    node: FakeNode,
    ledger: &'l Ledger,
    dice: Dice,
    /// It sends several callbacks at once (N25).
    is_batching: bool,
    spool: VecDeque<Event>,
    seen: BTreeSet<(String, u64)>,
    reported: BTreeSet<String>,
    tally: BTreeMap<String, (u64, u64)>,
}

impl<'l> Node<'l> {
    fn new(node: FakeNode, ledger: &'l Ledger, dice: Dice) -> Self {
        let (spool, seen, reported, tally) = Default::default();
        Self { node, ledger, dice, is_batching: false, spool, seen, reported, tally }
    }

    fn work(mut self) {
        while self.ledger.phase() != Phase::Over {
            if self.drain().and_then(|()| self.pull()).is_err() {
                thread::sleep(PAUSE);
            }
        }
    }

    fn drain(&mut self) -> io::Result<()> {
        while self.is_batching && !self.spool.is_empty() {
            self.send_together()?;
        }
        while let Some(event) = self.spool.front() {
            let request = Request::new("POST", "/api/nodes/callback").json(&event.nested());
            let answer = patient(self.node.client().try_send(request))?.expect(200);
            assert_eq!(answer["ok"], true, "{answer}");
            if let Some(event) = self.spool.pop_front() {
                self.ledger.acked().callbacks.push((event, answer));
            }
        }
        Ok(())
    }

    /// Sends some of the oldest events in one request, the first of them twice.
    fn send_together(&mut self) -> io::Result<()> {
        let count = self.spool.len().min(1 + self.dice.below(30) as usize);
        let doubled = self.spool.iter().take(count).chain(self.spool.front());
        let body = json!({"events": doubled.map(Event::nested).collect::<Vec<_>>()});
        let request = Request::new("POST", "/api/nodes/callbacks").json(&body);
        let answer = patient(self.node.client().try_send(request))?.expect(200);
        let results = answer["results"].as_array().unwrap();
        assert_eq!((results.len(), &results[count]["duplicate"]), (count + 1, &json!(true)), "{answer}");
        for (event, result) in self.spool.drain(..count).zip(results) {
            assert_eq!((&result["event_id"], &result["ok"]), (&json!(event.id), &json!(true)), "{answer}");
            self.ledger.acked().callbacks.push((event, result.clone()));
        }
        Ok(())
    }

    fn pull(&mut self) -> io::Result<()> {
        let wait_ms = self.dice.below(300);
        let body = json!({"node_id": self.node.name, "max_jobs": 1 + self.dice.below(8), "wait_ms": wait_ms,
            "devices": self.node.listed()});
        let request = Request::new("POST", "/api/nodes/pull").json(&body);
        let answer = patient(self.node.client().try_send(request))?.expect(200);
        self.ledger.count_pull();
        for job in answer["jobs"].as_array().unwrap() {
            self.execute(job);
        }
        for run in answer["finished_runs"].as_array().unwrap() {
            self.close(run.as_str().unwrap());
        }
        Ok(())
    }

    /// Whatever is handed out again was executed before, if it was seen before.
    fn execute(&mut self, job: &Value) {
        let task = job["task_id"].as_str().unwrap().to_owned();
        if !self.seen.insert((task, job["attempt"].as_u64().unwrap())) {
            return;
        }
        let name = self.node.name.clone();
        let tally = self.tally.entry(job["run_id"].as_str().unwrap().to_owned()).or_default();
        let fails = self.dice.percent(12);
        let end = if fails {
            tally.1 += 1;
            Event::failed(&name, job, self.dice.pick(&FAILURE_REASONS))
        } else {
            tally.0 += 1;
            Event::succeeded(&name, job)
        };
        if self.dice.percent(80) {
            self.spool.push_back(Event::started(&name, job));
        }
        if self.dice.percent(30) {
            self.spool.push_back(Event::progress(&name, job, "LOGIN_FLOW"));
        }
        self.spool.push_back(end);
    }

    fn close(&mut self, run: &str) {
        if self.reported.insert(run.to_owned()) {
            let (succeeded, failed) = self.tally.get(run).copied().unwrap_or_default();
            self.spool.push_back(Event::run_finished(&self.node.name, run, succeeded, failed));
        }
    }
}

/// A PC that takes its rows over RPC. A claim whose answer is lost ends with its lease.
struct Claimer<'l> {
    node: FakeNode,
    ledger: &'l Ledger,
    dice: Dice,
}

impl Claimer<'_> {
    fn work(mut self) {
        while self.ledger.phase() != Phase::Over {
            if self.turn().is_err() {
                thread::sleep(PAUSE);
            }
            thread::sleep(PAUSE);
        }
    }

    fn turn(&mut self) -> io::Result<()> {
        let report = json!({"node_id": self.node.name, "max_jobs": 0, "devices": self.node.listed()});
        let report = Request::new("POST", "/api/nodes/pull").json(&report);
        let _ = patient(self.node.client().try_send(report))?.expect(200);
        let claim = json!({"runner_pc_name": self.node.name, "max_to_claim": 3, "lease_minutes": 0.05});
        let rows = self.call("claim_task_devices_for_pc", &claim)?.expect(200);
        for row in rows.as_array().unwrap() {
            self.end(row["id"].as_str().unwrap(), row["attempt"].as_u64().unwrap())?;
        }
        Ok(())
    }

    fn end(&mut self, row: &str, attempt: u64) -> io::Result<()> {
        let fails = self.dice.percent(12);
        let (function, args) = if fails {
            ("fail_or_retry_task_device", json!({"p_task_device_id": row, "p_error": "no screen"}))
        } else {
            ("complete_task_device", json!({"p_task_device_id": row, "p_result": {"by": self.node.name}}))
        };
        let answer = self.call(function, &args)?;
        // Its lease may have ended meanwhile, or it is a repeat of what was done before the answer was lost.
        if answer.status != 409 {
            let shown = answer.expect(200);
            let status = shown["status"].as_str().unwrap().to_owned();
            self.ledger.acked().ended.push((row.to_owned(), status, attempt));
        }
        Ok(())
    }

    fn call(&self, function: &str, args: &Value) -> io::Result<Answer> {
        let request = Request::new("POST", &format!("/rest/v1/rpc/{function}")).json(args);
        patient(self.node.client().try_send(request))
    }
}

/// Client that submits runs under a key, retries until it gets a response, and sometimes cancels.
struct Submitter<'l> {
    name: &'static str,
    client: Client,
    ledger: &'l Ledger,
    dice: Dice,
}

impl Submitter<'_> {
    fn work(mut self) {
        let mut number = 0;
        while self.ledger.phase() == Phase::Loading {
            thread::sleep(self.dice.millis(20, 160));
            if self.ledger.is_backlog_long() {
                continue;
            }
            number += 1;
            let run = self.submit(&format!("{}-{number}", self.name));
            if let Some(run) = run.filter(|_| self.dice.percent(15)) {
                self.cancel(&run);
            }
        }
    }

    /// The first answer that comes back; a repeat must not make a second run.
    fn submit(&mut self, key: &str) -> Option<String> {
        let scope = match self.dice.below(3) {
            0 => Value::Null,
            1 => json!({"pcs": [self.dice.pick(&NODES), "PC-R1"]}),
            _ => json!({"devices": ["PC-01-d1", "PC-02-d2", "PC-03-d3", "PC-R2-d1"]}),
        };
        let queue = format!("q{}", self.dice.below(3));
        let body =
            json!({"workflow_id": "w", "params": {"key": key}, "scope": scope, "queue": queue, "title": key});
        while self.ledger.phase() != Phase::Over {
            let request = Request::new("POST", "/api/runs").header("Idempotency-Key", key).json(&body);
            if let Ok(answer) = patient(self.client.try_send(request)) {
                let run = answer.expect(201)["run_id"].as_str().unwrap().to_owned();
                self.ledger.acked().runs.push(run.clone());
                return Some(run);
            }
            thread::sleep(PAUSE);
        }
        None
    }

    fn cancel(&self, run: &str) {
        let request = Request::new("POST", &format!("/api/runs/{run}/cancel")).json(&json!({}));
        if let Ok(answer) = patient(self.client.try_send(request))
            && answer.status == 200
        {
            self.ledger.acked().cancelled.push(run.to_owned());
        }
    }
}

/// Puts devices back into service, so that bad luck does not use up all of them.
fn put_devices_back(client: &Client, ledger: &Ledger) {
    while ledger.phase() != Phase::Over {
        thread::sleep(PAUSE * 10);
        let Ok(answer) = patient(client.try_send(Request::new("GET", "/api/devices?status=ERROR"))) else {
            continue;
        };
        for device in answer.expect(200)["devices"].as_array().unwrap() {
            let path = format!("/api/devices/{}/return", device["device_id"].as_str().unwrap());
            let _ = client.try_send(Request::new("POST", &path).json(&json!({"note": "looked at"})));
        }
    }
}

const NODES: [&str; 4] = ["PC-01", "PC-02", "PC-03", "PC-04"];

/// Watches from the very first entry on and takes no gap, no repeat and no refusal.
fn watch(client: &Client, ledger: &Ledger) {
    let mut last = 0;
    while ledger.phase() != Phase::Over {
        if follow(client, ledger, &mut last).is_err() {
            thread::sleep(PAUSE);
        }
    }
    assert!(last > 0, "nothing was seen");
    println!("{last} entries of the feed seen, without a gap");
}

fn follow(client: &Client, ledger: &Ledger, last: &mut u64) -> io::Result<()> {
    let request = Request::new("GET", "/api/events").header("Last-Event-ID", &last.to_string());
    let mut stream = client.stream(request).inspect_err(|error| {
        assert!(error.kind() != io::ErrorKind::Other, "after {last}: {error}");
    })?;
    stream.set_patience(Duration::from_millis(500));
    while ledger.phase() != Phase::Over {
        let event = stream.next_event()?;
        assert_eq!(event.id, *last + 1, "{event:?}");
        *last = event.id;
    }
    Ok(())
}
