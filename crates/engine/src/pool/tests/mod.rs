//! The rules of the pool, told as small stories.

mod scheduling;
mod submissions;

use crate::kernel::script::Stage;
use alloc::{boxed::Box, format, sync::Arc, vec::Vec};
use muster_model::{
    AssignmentId, AssignmentRecord, Change, Command, Demand, Digest, Fact, Key, Millis, PoolChange,
    PoolCommand, PoolCounters, PoolEndRecord, PoolHandout, PoolJobDraft, PoolJobId, PoolJobStatus,
    PoolRegistration, PoolRejection, PoolReply, PoolResult, PoolSubmission, PoolSubmissionReply, PoolTaken,
    PoolWork, PoolWorkReply, PoolWorkerId, PoolWorkerRecord, Quality, Rejection, Reply, Scale, Settings,
    Specs, SubmissionKey, Timestamp, UserId,
};

/// A stage with short names for the commands of the pool.
pub(super) struct World {
    stage: Stage,
}

pub(super) const CLIENT: UserId = UserId(1);

impl World {
    pub(super) fn new() -> Self {
        let mut stage = Stage::new(Settings::default());
        stage.now = Timestamp(1_000_000);
        Self { stage }
    }

    pub(super) fn ask(&mut self, command: PoolCommand) -> Result<PoolReply, PoolRejection> {
        self.stage.now = self.stage.now + Millis(1);
        match self.execute(Command::Pool(command)) {
            Ok(Reply::Pool(reply)) => Ok(reply),
            Err(Rejection::Pool(rejection)) => Err(rejection),
            other => panic!("{other:?}"),
        }
    }

    fn execute(&mut self, command: Command) -> Result<Reply, Rejection> {
        let executed = self.stage.execute(command);
        self.stage.engine.check_invariants().expect("the invariants hold");
        executed.result
    }

    pub(super) fn restart(&mut self) {
        self.stage.restart();
    }

    /// Lets time pass, with every tick that is due.
    pub(super) fn pass(&mut self, seconds: i64) {
        let end = self.stage.now + Millis::from_secs(seconds);
        while let Some(due) = self.stage.engine.next_deadline().filter(|due| *due <= end) {
            self.stage.now = self.stage.now.max(due);
            assert!(self.execute(Command::Tick).is_ok());
        }
        self.stage.now = end;
    }

    /// A worker of an owner, with a key and slots; heard of once.
    pub(super) fn worker(&mut self, owner: u64, slots: u32) -> Worker {
        self.worker_with(owner, slots, Machine::default())
    }

    pub(super) fn worker_with(&mut self, owner: u64, slots: u32, machine: Machine) -> Worker {
        let registration = PoolRegistration {
            owner: UserId(owner),
            name: format!("worker-{}", self.stage.now.0).into(),
            region: machine.region.map(Box::from),
            specs: machine.specs,
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

    /// Has a worker take its next assignment and hand in a result with this hash.
    pub(super) fn finish(&mut self, worker: Worker, hash: &str) {
        let handout = self.poll(worker).expect("an assignment");
        assert!(self.hand_in(worker, handout, hash).is_ok());
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

    /// Final status of a job, if it ended.
    pub(super) fn end(&self, job: PoolJobId) -> Option<PoolJobStatus> {
        self.end_of(job).map(|end| end.status)
    }

    /// The assignment whose result became the job's.
    pub(super) fn winner(&self, job: PoolJobId) -> Option<AssignmentId> {
        self.end_of(job).filter(|end| end.status == PoolJobStatus::Completed)?.assignment
    }

    fn end_of(&self, job: PoolJobId) -> Option<&PoolEndRecord> {
        match self.stage.facts.get(&Key::PoolEnd(job)) {
            Some(Fact::PoolEnd(end)) => Some(end),
            _ => None,
        }
    }

    /// The stored row of an assignment.
    pub(super) fn row(&self, id: AssignmentId) -> &AssignmentRecord {
        match self.stage.rows.get(&format!("p3 {:010}", id.0)) {
            Some(Change::Pool(PoolChange::Assignment(record))) => record,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn row_mut(&mut self, id: AssignmentId) -> &mut AssignmentRecord {
        match self.stage.rows.get_mut(&format!("p3 {:010}", id.0)) {
            Some(Change::Pool(PoolChange::Assignment(record))) => record,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn record(&self, worker: Worker) -> &PoolWorkerRecord {
        match self.stage.rows.get(&format!("p1 {:010}", worker.id.0)) {
            Some(Change::Pool(PoolChange::Worker(record))) => record,
            other => panic!("{other:?}"),
        }
    }

    pub(super) fn counters(&self) -> PoolCounters {
        match self.stage.rows.get("p0") {
            Some(Change::Pool(PoolChange::Counters(counters))) => *counters,
            other => panic!("{other:?}"),
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Worker {
    pub(super) id: PoolWorkerId,
    pub(super) owner: UserId,
}

/// Region and specs of a worker.
#[derive(Default)]
pub(super) struct Machine {
    pub(super) region: Option<&'static str>,
    pub(super) specs: Specs,
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
        batch: None,
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
