//! Random lives of one worker: calls and responses are lost, late or reordered, tokens expire, and the worker dies at any
//! moment. The server refuses nothing but old tokens, so every result must be accepted.

use super::super::super::Assignment;
use super::*;
use std::collections::{BTreeSet, HashMap};

/// P2, P6, P7, P8, P16, P20: every assignment gets exactly one result. Nothing is set aside without a refusal, nothing is executed
/// twice at once or beyond the slots, and nothing is submitted that is not on disk.
#[test]
fn no_chaos_loses_or_doubles_a_result() {
    let seeds = std::env::var("MUSTER_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(300);
    let mut lives = 0;
    for seed in 0..seeds {
        let mut world = World::new(seed);
        world.live();
        lives += world.life;
    }
    assert!(lives > seeds, "no worker died");
}

/// A result on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stored {
    assignment: u64,
    /// Number of the execution: no two results of one assignment have the same bytes.
    bytes: u64,
    /// In a batch it has no signature of its own, so its bytes are others.
    is_in_batch: bool,
}

/// The worker, its disk, its server, and the network between them.
struct World {
    seed: u64,
    dice: u64,
    now: Timestamp,
    life: u64,
    core: Core,
    /// The token that the server accepts.
    token: u64,
    has_worker: bool,
    queue: Vec<u64>,
    started: BTreeSet<u64>,
    results: BTreeMap<u64, Stored>,
    /// The worker's token.
    own_token: u64,
    /// Durable entries.
    disk: BTreeMap<u64, Stored>,
    /// Entries that a crash would lose.
    unsynced: BTreeMap<u64, Stored>,
    /// Acked entries that a crash may bring back.
    acked: BTreeMap<u64, Stored>,
    running: HashMap<u64, u64>,
    executions: u64,
    /// Calls on their way to the server.
    calls: Vec<Call>,
    /// Responses on their way to a life of the worker.
    answers: Vec<(u64, Answer)>,
    /// True once nothing goes wrong any more.
    is_calm: bool,
    /// True while the server is of a version without batches.
    is_old: bool,
}

struct Call {
    life: u64,
    token: u64,
    action: Action,
    bodies: Vec<Stored>,
}

enum Answer {
    Admitted(u64, Result<u64, Trouble>),
    Listed(u64, Result<Vec<WorkerSummary>, Trouble>),
    Registered(u64, Result<WorkerSummary, Trouble>),
    Beaten(u64, Result<Option<Text>, Trouble>),
    Resumed(u64, Result<Started, Trouble>),
    Polled(u64, Result<Option<Assignment>, Trouble>),
    Submitted(u64, Result<Submitted, Trouble>),
    SubmittedBatch(Vec<u64>, Result<Vec<Result<Submitted, Refusal>>, Trouble>),
}

impl World {
    fn new(seed: u64) -> Self {
        Self {
            seed,
            dice: seed,
            now: Timestamp(0),
            life: 1,
            core: Core::new(settings(), Vec::new(), Timestamp(0)),
            token: 0,
            has_worker: false,
            queue: (1..=JOBS).rev().map(|job| job * 64 + 1).collect(),
            started: BTreeSet::new(),
            results: BTreeMap::new(),
            own_token: 0,
            disk: BTreeMap::new(),
            unsynced: BTreeMap::new(),
            acked: BTreeMap::new(),
            running: HashMap::new(),
            executions: 0,
            calls: Vec::new(),
            answers: Vec::new(),
            is_calm: false,
            is_old: seed.is_multiple_of(3),
        }
    }

    fn live(&mut self) {
        for step in 0..STEPS_MAX {
            self.is_calm = step > STEPS_WILD;
            self.is_old &= step < STEPS_OLD;
            self.act();
            if self.results.len() as u64 == JOBS && self.disk.is_empty() && self.unsynced.is_empty() {
                return;
            }
            self.happen();
        }
        let Self { seed, life, results, started, disk, .. } = self;
        panic!("seed {seed}, life {life}: {} results, started {started:?}, on disk {disk:?}", results.len());
    }

    fn happen(&mut self) {
        let is_wild = !self.is_calm;
        match self.below(100) {
            0 if is_wild => self.die(),
            1 if is_wild => self.token += 1,
            2 if is_wild => self.core.leave(self.now),
            3..=5 if is_wild => self.lose(),
            6..=35 => self.serve(),
            36..=65 => self.hear(),
            66..=80 => self.finish(),
            81..=90 => self.sync(),
            _ => self.pass(),
        }
        if self.core.over().is_some() {
            assert_eq!(self.core.over(), Some(&Over::Left), "seed {}", self.seed);
            self.die();
        }
    }

    fn act(&mut self) {
        while let Some(action) = self.core.next_action() {
            match action {
                Action::Begin(work) => {
                    let id = work.assignment.id;
                    assert!(
                        !self.running.values().any(|other| *other == id),
                        "seed {}: {id} twice",
                        self.seed
                    );
                    self.running.insert(work.number, id);
                    assert!(self.running.len() <= SLOTS as usize, "seed {}", self.seed);
                }
                Action::Kill(work) => {
                    if self.running.remove(&work).is_some() {
                        self.core.ended(work, End::Stopped, self.now);
                    }
                }
                Action::Store(submission) => {
                    self.executions += 1;
                    let stored = Stored {
                        assignment: submission.assignment,
                        bytes: self.executions,
                        is_in_batch: false,
                    };
                    self.unsynced.insert(submission.entry, stored);
                }
                Action::Ack(entry) => {
                    let kept = self.disk.remove(&entry).expect("it was on disk");
                    self.acked.insert(entry, kept);
                }
                Action::SetAside { entry, why } => panic!("seed {}: {entry} was set aside: {why}", self.seed),
                Action::Submit(entry) => {
                    let body = *self.disk.get(&entry).expect("it is on disk before it leaves");
                    self.call(Action::Submit(entry), vec![body]);
                }
                Action::SubmitBatch { worker, entries } => {
                    let body = |entry: &u64| *self.disk.get(entry).expect("it is on disk before it leaves");
                    let bodies = entries.iter().map(|entry| Stored { is_in_batch: true, ..body(entry) });
                    let bodies = bodies.collect();
                    self.call(Action::SubmitBatch { worker, entries }, bodies);
                }
                Action::TakeBack(_) | Action::Note(_) => {}
                action => self.call(action, Vec::new()),
            }
        }
    }

    fn call(&mut self, action: Action, bodies: Vec<Stored>) {
        self.calls.push(Call { life: self.life, token: self.own_token, action, bodies });
    }

    /// Delivers any one call to the server: calls overtake each other and outlive their worker.
    fn serve(&mut self) {
        if let Some(place) = self.any(self.calls.len()) {
            let call = self.calls.swap_remove(place);
            let life = call.life;
            let answer = self.answer(call);
            self.answers.push((life, answer));
        }
    }

    /// Loses a call or its response; the worker notices.
    fn lose(&mut self) {
        if let Some(place) = self.any(self.calls.len()) {
            let call = self.calls.swap_remove(place);
            let was_done = self.below(2) == 0;
            let silent = silence(&call.action);
            let life = call.life;
            if was_done {
                let _lost = self.answer(call);
            }
            self.answers.push((life, silent));
        }
    }

    fn answer(&mut self, call: Call) -> Answer {
        let is_known = call.token == self.token;
        let of_owner = || if is_known { Ok(()) } else { Err(Trouble::Unauthorized) };
        match call.action {
            Action::LogIn(number) => Answer::Admitted(number, Ok(self.next_token())),
            Action::Renew(number) => Answer::Admitted(number, of_owner().map(|()| self.next_token())),
            Action::List(number) => {
                Answer::Listed(number, of_owner().map(|()| self.has_worker.then(known).into_iter().collect()))
            }
            Action::Register(number) => {
                let taken = Refusal { status: 409, detail: "Worker name already exists".into() };
                let is_taken = is_known && std::mem::replace(&mut self.has_worker, true);
                let free = if is_taken { Err(Trouble::Refused(taken)) } else { Ok(known()) };
                Answer::Registered(number, of_owner().and(free))
            }
            Action::Beat { number, .. } => Answer::Beaten(number, of_owner().map(|()| None)),
            Action::Resume { number, .. } => {
                let started = || self.started.iter().map(|id| handed(*id)).collect();
                Answer::Resumed(number, of_owner().map(|()| Started::All(started())))
            }
            Action::Poll { number, .. } => {
                let found = if is_known { self.queue.pop() } else { None };
                self.started.extend(found);
                Answer::Polled(number, of_owner().map(|()| found.map(handed)))
            }
            Action::Submit(entry) => {
                let taken = of_owner().and_then(|()| self.take(call.bodies[0]).map_err(Trouble::Refused));
                Answer::Submitted(entry, taken)
            }
            Action::SubmitBatch { entries, .. } => {
                let unknown = || Refusal { status: 422, detail: "Field required".into() };
                let known = if self.is_old { Err(Trouble::Refused(unknown())) } else { Ok(()) };
                let known = of_owner().and(known);
                let taken = known.map(|()| call.bodies.iter().map(|body| self.take(*body)).collect());
                Answer::SubmittedBatch(entries, taken)
            }
            other => panic!("{other:?} is no call"),
        }
    }

    /// Accepts a result once (P8).
    fn take(&mut self, body: Stored) -> Result<Submitted, Refusal> {
        let id = body.assignment;
        let refused = |detail: &str| Err(Refusal { status: 409, detail: detail.into() });
        match self.results.get(&id) {
            Some(taken) if *taken == body => Ok(Submitted::Before),
            Some(_) => refused("Assignment already submitted"),
            None if !self.started.remove(&id) => refused("Assignment is not in a submittable state"),
            None => {
                self.results.insert(id, body);
                Ok(Submitted::Now)
            }
        }
    }

    /// Delivers any one response to the worker, unless it is for an earlier life.
    fn hear(&mut self) {
        let Some(place) = self.any(self.answers.len()) else { return };
        let (life, answer) = self.answers.swap_remove(place);
        if life != self.life {
            return;
        }
        let now = self.now;
        match answer {
            Answer::Admitted(number, answer) => {
                self.own_token = answer.clone().unwrap_or(self.own_token);
                self.core.admitted(number, answer.map(|_| Some(Millis(900_000))), now);
            }
            Answer::Listed(number, answer) => self.core.listed(number, answer, now),
            Answer::Registered(number, answer) => self.core.registered(number, answer, now),
            Answer::Beaten(number, answer) => self.core.beaten(number, answer, now),
            Answer::Resumed(number, answer) => self.core.resumed(number, answer, now),
            Answer::Polled(number, answer) => self.core.polled(number, answer, now),
            Answer::Submitted(entry, answer) => self.core.submitted(entry, answer, now),
            Answer::SubmittedBatch(entries, answer) => self.core.submitted_batch(&entries, answer, now),
        }
    }

    fn finish(&mut self) {
        let mut works: Vec<u64> = self.running.keys().copied().collect();
        works.sort_unstable();
        if let Some(place) = self.any(works.len()) {
            self.running.remove(&works[place]);
            let outcome = Outcome::Output("{}".into());
            self.core.ended(works[place], End::Done(outcome), self.now);
        }
    }

    fn sync(&mut self) {
        self.acked.clear();
        let stored: Vec<u64> = self.unsynced.keys().copied().collect();
        self.disk.append(&mut self.unsynced);
        stored.into_iter().for_each(|entry| self.core.stored(entry, self.now));
    }

    /// Lets time pass: until the next deadline, or a little.
    fn pass(&mut self) {
        let a_little = self.now + Millis(i64::try_from(self.below(500)).unwrap());
        let due = self.core.next_wake().unwrap_or(a_little).max(self.now);
        self.now = if self.below(2) == 0 { due } else { a_little };
        self.core.wake(self.now);
    }

    /// Kills the worker and starts it anew: executions and unsynced entries are lost, acked ones may come back.
    fn die(&mut self) {
        if self.below(2) == 0 {
            self.disk.append(&mut self.acked);
        }
        self.acked.clear();
        self.unsynced.clear();
        self.running.clear();
        self.life += 1;
        self.own_token = 0;
        let kept: Vec<Stored> = std::mem::take(&mut self.disk).into_values().collect();
        let spooled = |stored: &Stored| Spooled {
            worker: 7,
            assignment: stored.assignment,
            nonce: "n".into(),
            is_error: false,
        };
        self.core = Core::new(settings(), kept.iter().map(spooled).collect(), self.now);
        self.disk = (1..).zip(kept).collect();
    }

    fn next_token(&mut self) -> u64 {
        self.token += 1;
        self.token
    }

    fn any(&mut self, count: usize) -> Option<usize> {
        let count = u64::try_from(count).unwrap();
        (count > 0).then(|| usize::try_from(self.below(count)).unwrap())
    }

    /// splitmix64
    fn below(&mut self, end: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.dice ^ (self.dice >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % end
    }
}

fn silence(action: &Action) -> Answer {
    let silent = Trouble::NoAnswer(None);
    match action {
        Action::LogIn(number) | Action::Renew(number) => Answer::Admitted(*number, Err(silent)),
        Action::List(number) => Answer::Listed(*number, Err(silent)),
        Action::Register(number) => Answer::Registered(*number, Err(silent)),
        Action::Beat { number, .. } => Answer::Beaten(*number, Err(silent)),
        Action::Resume { number, .. } => Answer::Resumed(*number, Err(silent)),
        Action::Poll { number, .. } => Answer::Polled(*number, Err(silent)),
        Action::Submit(entry) => Answer::Submitted(*entry, Err(silent)),
        Action::SubmitBatch { entries, .. } => Answer::SubmittedBatch(entries.clone(), Err(silent)),
        other => panic!("{other:?} is no call"),
    }
}

fn settings() -> Settings {
    Settings {
        name: "W".into(),
        slots: SLOTS,
        heartbeat: Millis(10_000),
        poll_wait: Millis(20_000),
        grace: Millis(3_000),
        can_log_in: true,
        key: "K".into(),
        next_key: None,
    }
}

fn known() -> WorkerSummary {
    WorkerSummary { id: 7, name: "W".into(), key: Some("K".into()), slots: None, last_seen: None }
}

fn handed(id: u64) -> Assignment {
    Assignment { id, nonce: "n".into(), job: "{}".into() }
}

const JOBS: u64 = 20;
const SLOTS: u32 = 3;
/// Number of steps after which nothing goes wrong any more, so that every life ends.
const STEPS_WILD: u64 = 3_000;
const STEPS_MAX: u64 = 20_000;
/// Number of steps after which an older server is upgraded.
const STEPS_OLD: u64 = 300;
