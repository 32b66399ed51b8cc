//! Records of the pool to write: a plain one of each kind, to be varied by the cases.

pub(crate) use crate::conformance::samples::{changed, submission_key};
use crate::{Reader, conformance::desk::Desk};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Demand, Digest, Fence, PoolEndRecord, PoolJobDraft,
    PoolJobId, PoolJobRecord, PoolJobStatus, PoolKeyRecord, PoolResult, PoolWorkerId, PoolWorkerRecord,
    PoolWorkerStatus, Quality, Scale, Specs, Timestamp, UserId,
};
use std::sync::Arc;

pub(crate) const OWNER: UserId = UserId(7);
pub(crate) const CLIENT: UserId = UserId(8);

/// A worker that was seen once.
pub(crate) fn worker(id: u64) -> PoolWorkerRecord {
    PoolWorkerRecord {
        id: PoolWorkerId(id),
        owner: OWNER,
        name: format!("worker '{id}' 기기").into(),
        status: PoolWorkerStatus::Online,
        region: None,
        specs: specs(),
        specs_json: Some("{\"vram\": 24.5, \"gpu\": \"a\"}".into()),
        public_key: None,
        slots: 1,
        draining: false,
        ban_reason: None,
        agreements: 0,
        dissents: 0,
        last_seen: Some(Timestamp(10)),
        created_at: Timestamp(1),
    }
}

/// A number, and something else.
pub(crate) fn specs() -> Specs {
    let qualities = [
        ("vram", Quality::Amount(Scale::new(24.5))),
        ("debt", Quality::Amount(Scale::new(-0.1))),
        ("gpu", Quality::Exactly("\"기기\\n\"".into())),
    ];
    Specs::new(qualities.map(|(name, quality)| (name.into(), quality)).into())
}

/// A job that asks for nothing.
pub(crate) fn job(id: u64) -> PoolJobRecord {
    let draft = PoolJobDraft {
        payload: format!("{{\"n\": {id}}}").into(),
        priority: 50,
        demand: Demand::default(),
        requires_json: None,
        max_attempts: None,
        timeout: None,
        verify_output_hash: false,
        redundancy: 1,
    };
    PoolJobRecord { id: PoolJobId(id), client: CLIENT, max_attempts: 3, draft, created_at: Timestamp(1) }
}

/// The same as a store hands it over at a start.
pub(crate) fn without_payload(job: PoolJobRecord) -> PoolJobRecord {
    PoolJobRecord { draft: PoolJobDraft { payload: "".into(), ..job.draft }, ..job }
}

/// An assignment that was given out.
pub(crate) fn assignment(job: u64, n: u8) -> AssignmentRecord {
    AssignmentRecord {
        id: AssignmentId::new(PoolJobId(job), n),
        worker: PoolWorkerId(3),
        owner: OWNER,
        fence: Fence(u128::MAX - u128::from(n)),
        state: AssignmentState::Assigned,
        granted_at: Timestamp(2),
        timeout_at: None,
        ended_at: None,
        digest: None,
        output_hash: None,
        vote: None,
        result: None,
    }
}

/// An assignment that was handed in.
pub(crate) fn done(job: u64, n: u8) -> AssignmentRecord {
    let granted = assignment(job, n);
    let result = PoolResult {
        assignment: granted.id,
        nonce: Some(granted.fence),
        signature: "c2ln".into(),
        public_key: "a2V5".into(),
        output: Some("{\"sum\": 3}".into()),
        output_hash: Some("abc".into()),
        hash_matches: Some(false),
        vote: Some("def".into()),
        error: None,
        artifact_uri: None,
        metrics: None,
        digest: [n; 32],
        batch: None,
    };
    AssignmentRecord {
        state: AssignmentState::Completed,
        ended_at: Some(Timestamp(5)),
        ..with(granted, result)
    }
}

/// The same with another result.
pub(crate) fn with(assignment: AssignmentRecord, result: PoolResult) -> AssignmentRecord {
    AssignmentRecord {
        digest: Some(result.digest),
        output_hash: result.output_hash.clone(),
        vote: result.vote.clone(),
        result: Some(Arc::new(result)),
        ..assignment
    }
}

/// The same as memory holds it.
pub(crate) fn without_result(assignment: AssignmentRecord) -> AssignmentRecord {
    AssignmentRecord { result: None, ..assignment }
}

/// The end of a job whose first assignment was accepted.
pub(crate) fn end(job: u64, at: i64) -> PoolEndRecord {
    PoolEndRecord {
        job: PoolJobId(job),
        client: CLIENT,
        status: PoolJobStatus::Completed,
        assignment: Some(AssignmentId::new(PoolJobId(job), 1)),
        error: None,
        at: Timestamp(at),
    }
}

pub(crate) fn key(client: UserId, text: &str, at: i64) -> PoolKeyRecord {
    PoolKeyRecord {
        client,
        key: submission_key(text),
        digest: Digest(u128::MAX),
        first: PoolJobId(4),
        count: 1_000,
        at: Timestamp(at),
    }
}

pub(crate) fn read_worker(desk: &Desk, id: u64) -> PoolWorkerRecord {
    desk.reader().pool_worker(PoolWorkerId(id)).expect("it is read").expect("it is there")
}

pub(crate) fn read_assignments(reader: &dyn Reader, job: u64) -> Vec<AssignmentRecord> {
    reader.assignments(PoolJobId(job)).expect("they are read")
}
