//! The rules of the pool, told as small stories.

mod leases;
mod scheduling;
mod submissions;
mod votes;

use crate::{Context, Engine, Restoring};
use alloc::{boxed::Box, collections::BTreeMap, format, sync::Arc, vec::Vec};
use muster_model::{
    AssignmentId, AssignmentRecord, Change, Command, Demand, Digest, Event, Fact, Facts, Key, Millis,
    PoolChange, PoolCommand, PoolCounters, PoolHandout, PoolJobDraft, PoolJobId, PoolJobStatus,
    PoolRegistration, PoolRejection, PoolReply, PoolResult, PoolSubmission, PoolSubmissionReply, PoolTaken,
    PoolWork, PoolWorkReply, PoolWorkerId, PoolWorkerRecord, Quality, Rejection, Reply, Scale, Settings,
    Specs, SubmissionKey, Timestamp, UserId,
};

/// An engine with a clock, a store and short names for what can be asked.
pub(super) struct World {
    engine: Engine,
    now: i64,
    draws: u8,
    rows: BTreeMap<alloc::string::String, PoolChange>,
    facts: Facts,
    events: Vec<Event>,
}

pub(super) const CLIENT: UserId = UserId(1);

impl World {
    pub(super) fn new() -> Self {
        Self {
            engine: Engine::new(Settings::default()),
            now: 1_000_000,
            draws: 0,
            rows: BTreeMap::new(),
            facts: Facts::default(),
            events: Vec::new(),
        }
    }

    pub(super) fn ask(&mut self, command: PoolCommand) -> Result<PoolReply, PoolRejection> {
        self.now += 1;
        let command = Command::Pool(command);
        let keys = self.engine.keys(&command);
        let found = keys.into_iter().filter_map(|key| Some((key.clone(), self.facts.get(&key)?.clone())));
        let mut facts = Facts::default();
        found.for_each(|(key, fact)| facts.insert(key, fact));
        match self.execute(command, &facts) {
            Ok(Reply::Pool(reply)) => Ok(reply),
            Err(Rejection::Pool(rejection)) => Err(rejection),
            other => panic!("{other:?}"),
        }
    }

    fn execute(&mut self, command: Command, facts: &Facts) -> Result<Reply, Rejection> {
        self.draws = self.draws.wrapping_add(1);
        let seed: [u8; 32] = core::array::from_fn(|i| self.draws.wrapping_mul(31).wrapping_add(i as u8));
        let context = Context { now: Timestamp(self.now), seed: &seed, facts };
        let executed = self.engine.execute(command, &context);
        self.events.extend(executed.events);
        self.engine.check_invariants().expect("the invariants hold");
        self.commit();
        executed.result
    }

    /// Writes down what changed, and lets memory forget it, as the coordinator does.
    fn commit(&mut self) {
        let changes = self.engine.take_changes();
        for change in &changes {
            let Change::Pool(change) = change else { continue };
            let key = match change {
                PoolChange::Counters(_) => "0".into(),
                PoolChange::Worker(record) => format!("1 {:010}", record.id.0),
                PoolChange::Job(record) => format!("2 {:010}", record.id.0),
                PoolChange::Assignment(record) => format!("3 {:010}", record.id.0),
                PoolChange::End(end) => format!("4 {:010}", end.job.0),
                PoolChange::Key(key) => format!("5 {} {}", key.client, key.key.as_str()),
            };
            match change {
                PoolChange::Assignment(record) if record.ended_at.is_some() => {
                    self.facts.insert(Key::Assignment(record.id), Fact::Assignment(record.clone()));
                }
                PoolChange::End(end) => self.facts.insert(Key::PoolEnd(end.job), Fact::PoolEnd(end.clone())),
                PoolChange::Key(key) => {
                    let known = Key::PoolSubmission(key.client, key.key.clone());
                    self.facts.insert(known, Fact::PoolSubmission(key.clone()));
                }
                _ => {}
            }
            self.rows.insert(key, change.clone());
        }
        self.engine.forget(&changes);
    }

    /// Throws memory away and builds it back from what was written down.
    pub(super) fn restart(&mut self) {
        let mut engine = Restoring::new(Settings::default());
        let ended = |job: PoolJobId| self.rows.contains_key(&format!("4 {:010}", job.0));
        for row in self.rows.values() {
            match row {
                PoolChange::Job(record) if ended(record.id) => {}
                PoolChange::Assignment(record) if ended(record.id.job()) => {}
                PoolChange::End(_) | PoolChange::Key(_) => {}
                row => engine.pool(row.clone()),
            }
        }
        self.engine = engine.finish(1, Timestamp(self.now));
        self.engine.check_invariants().expect("the invariants hold after a restart");
    }

    /// Lets time pass, with every tick that is due.
    pub(super) fn pass(&mut self, seconds: i64) {
        let end = self.now + seconds * 1000;
        while let Some(due) = self.engine.next_deadline().filter(|due| due.0 <= end) {
            self.now = self.now.max(due.0);
            assert!(self.execute(Command::Tick, &Facts::default()).is_ok());
        }
        self.now = end;
    }

    /// A worker of an owner, with a key and slots; heard of once.
    pub(super) fn worker(&mut self, owner: u64, slots: u32) -> Worker {
        self.worker_with(owner, slots, (None, Specs::default()))
    }

    pub(super) fn worker_with(
        &mut self,
        owner: u64,
        slots: u32,
        (region, specs): (Option<&str>, Specs),
    ) -> Worker {
        let registration = PoolRegistration {
            owner: UserId(owner),
            name: format!("worker-{}", self.now).into(),
            region: region.map(Box::from),
            specs,
            specs_json: None,
            public_key: Some("key".into()),
            slots,
        };
        let id = match self.ask(PoolCommand::Register(registration.into())) {
            Ok(PoolReply::Worker(record)) => record.id,
            other => panic!("{other:?}"),
        };
        let worker = Worker { id, owner: UserId(owner) };
        self.beat(worker);
        worker
    }

    pub(super) fn beat(&mut self, worker: Worker) {
        let beat = PoolCommand::Beat { worker: worker.id, owner: worker.owner };
        assert!(matches!(self.ask(beat), Ok(PoolReply::Seen { .. })));
    }

    pub(super) fn poll(&mut self, worker: Worker) -> Option<PoolHandout> {
        self.poll_with(worker, false)
    }

    pub(super) fn poll_with(&mut self, worker: Worker, start: bool) -> Option<PoolHandout> {
        let poll = PoolCommand::Poll { worker: worker.id, owner: worker.owner, start, supply: true };
        match self.ask(poll) {
            Ok(PoolReply::Assignment(handout)) => handout,
            other => panic!("{other:?}"),
        }
    }

    /// Hands in a result with this hash.
    pub(super) fn hand_in(
        &mut self,
        worker: Worker,
        handout: PoolHandout,
        hash: &str,
    ) -> Result<PoolTaken, PoolRejection> {
        self.hand_in_result(worker, result(handout, hash))
    }

    pub(super) fn hand_in_result(
        &mut self,
        worker: Worker,
        result: PoolResult,
    ) -> Result<PoolTaken, PoolRejection> {
        let (worker, owner) = (worker.id, worker.owner);
        match self.ask(PoolCommand::HandIn { worker, owner, result: Arc::new(result) })? {
            PoolReply::Taken(taken) => Ok(taken),
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn submit(&mut self, jobs: Vec<PoolJobDraft>) -> PoolJobId {
        self.submit_as(CLIENT, None, jobs).expect("taken").0
    }

    pub(super) fn submit_as(
        &mut self,
        client: UserId,
        key: Option<(&str, u128)>,
        jobs: Vec<PoolJobDraft>,
    ) -> Result<(PoolJobId, bool), PoolRejection> {
        let digest = Digest(key.map_or(0, |(_, digest)| digest));
        let key = key.map(|(key, _)| SubmissionKey::new(key).expect("a key"));
        match self.ask(PoolCommand::Submit(PoolSubmission { client, key, digest, jobs }.into()))? {
            PoolReply::Submitted(PoolSubmissionReply { first, repeated, .. }) => Ok((first, repeated)),
            other => panic!("{other:?}"),
        }
    }

    /// How a job ended, if it did.
    pub(super) fn end(&self, job: PoolJobId) -> Option<PoolJobStatus> {
        match self.rows.get(&format!("4 {:010}", job.0)) {
            Some(PoolChange::End(end)) => Some(end.status),
            _ => None,
        }
    }

    /// The assignment whose result became the job's.
    pub(super) fn winner(&self, job: PoolJobId) -> Option<AssignmentId> {
        match self.rows.get(&format!("4 {:010}", job.0)) {
            Some(PoolChange::End(end)) if end.status == PoolJobStatus::Completed => end.assignment,
            _ => None,
        }
    }

    /// The stored row of an assignment.
    pub(super) fn row(&self, id: AssignmentId) -> &AssignmentRecord {
        match self.rows.get(&format!("3 {:010}", id.0)) {
            Some(PoolChange::Assignment(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn row_mut(&mut self, id: AssignmentId) -> &mut AssignmentRecord {
        match self.rows.get_mut(&format!("3 {:010}", id.0)) {
            Some(PoolChange::Assignment(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn record(&self, worker: Worker) -> &PoolWorkerRecord {
        match self.rows.get(&format!("1 {:010}", worker.id.0)) {
            Some(PoolChange::Worker(record)) => record,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn counters(&self) -> PoolCounters {
        match self.rows.get("0") {
            Some(PoolChange::Counters(counters)) => *counters,
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Worker {
    pub(super) id: PoolWorkerId,
    pub(super) owner: UserId,
}

/// A plain job.
pub(super) fn job() -> PoolJobDraft {
    PoolJobDraft {
        payload: "{}".into(),
        priority: 0,
        demand: Demand::default(),
        requires_json: None,
        max_attempts: None,
        timeout: None,
        verify_output_hash: false,
        redundancy: 1,
    }
}

pub(super) fn redundant(k: u8) -> PoolJobDraft {
    PoolJobDraft { redundancy: k, ..job() }
}

/// A good result for an assignment, whose output has this hash; the empty text is none, and no output.
pub(super) fn result(handout: PoolHandout, hash: &str) -> PoolResult {
    let computed: Option<Box<str>> = (!hash.is_empty()).then(|| hash.into());
    PoolResult {
        assignment: handout.assignment,
        nonce: Some(handout.fence),
        signature: "signature".into(),
        public_key: "key".into(),
        output: computed.as_ref().map(|_| "{}".into()),
        output_hash: computed.clone(),
        hash_matches: computed.as_ref().map(|_| true),
        vote: computed,
        error: None,
        artifact_uri: None,
        metrics: None,
        digest: [u8::try_from(hash.len()).expect("short"); 32],
    }
}

pub(super) fn amount(name: &str, least: f64) -> Specs {
    Specs::new(Vec::from([(name.into(), Quality::Amount(Scale::new(least)))]))
}

pub(super) fn work(worker: Worker, results: Vec<PoolResult>, max: u32) -> PoolCommand {
    let results = results.into_iter().map(Arc::new).collect();
    let (worker, owner) = (worker.id, worker.owner);
    PoolCommand::Work(PoolWork { worker, owner, results, max, start: true, supply: true }.into())
}

pub(super) fn nth(job: PoolJobId, n: u8) -> AssignmentId {
    AssignmentId::new(job, n)
}

pub(super) const fn seconds(seconds: i64) -> Millis {
    Millis::from_secs(seconds)
}
