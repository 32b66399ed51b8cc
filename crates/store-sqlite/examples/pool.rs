//! Measures how many jobs of the pool per second a store takes in, grants and takes back done, and loads, lists and
//! deletes.
//!
//! `cargo run --release -p muster-store-sqlite --example pool [jobs] [batch]`
#![allow(clippy::disallowed_methods, reason = "a measurement needs the real clock")]

use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, Change, Demand, Fence, PoolChange, PoolCounters,
    PoolEndRecord, PoolJobDraft, PoolJobId, PoolJobRecord, PoolJobStatus, PoolResult, PoolWorkerId,
    Timestamp, UserId,
};
use muster_store::{Batch, Cursor, Cutoffs, PoolJobFilter, Reader, Store, StoreError, Writer};
use muster_store_sqlite::SqliteStore;
use std::{sync::Arc, time::Instant};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |place: usize, default: u64| {
        std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (jobs, batch) = (number(1, 500_000), number(2, 256));
    let directory = tempfile::tempdir_in(".")?;
    let store = SqliteStore::open(directory.path())?;
    let mut term = store.begin_term()?;
    run(term.writer.as_mut(), jobs, batch)?;
    let started = Instant::now();
    let mut loaded = 0;
    term.writer.load(&mut |_| loaded += 1)?;
    report("rows loaded", loaded, started);
    let started = Instant::now();
    report("jobs looked at for a client that has none", list(store.reader().as_ref())?, started);
    let started = Instant::now();
    let cutoffs = Cutoffs { history: LATER, report_ids: LATER, keys: LATER };
    while term.writer.prune(&cutoffs)? {}
    report("jobs deleted", jobs, started);
    Ok(())
}

/// Each batch takes jobs in, grants those of the batch before and takes those of the one before that back.
fn run(writer: &mut dyn Writer, jobs: u64, batch: u64) -> Result<(), StoreError> {
    let started = Instant::now();
    for first in (1..=jobs).step_by(usize::try_from(batch).unwrap_or(1)) {
        let of = |ago: u64| {
            (first.saturating_sub(ago * batch).max(1)..first.saturating_sub((ago - 1) * batch)).map(PoolJobId)
        };
        let handed_in = (first..first + batch).map(|id| PoolChange::Job(Box::new(job(PoolJobId(id)))));
        let granted = of(1).map(|id| PoolChange::Assignment(Box::new(granted(id))));
        let done =
            of(2).flat_map(|id| [PoolChange::Assignment(Box::new(done(id))), PoolChange::End(end(id))]);
        let oldest_open = first.saturating_sub(batch).max(1);
        let counters = PoolCounters { next_worker: 9, next_job: first + batch, oldest_open };
        let changes = handed_in.chain(granted).chain(done).chain([PoolChange::Counters(counters)]);
        writer.commit(&Batch { changes: changes.map(Change::Pool).collect(), ..Batch::default() })?;
    }
    report("jobs handed in, granted and done", jobs, started);
    Ok(())
}

/// Number of rows that one call looks at.
fn list(reader: &dyn Reader) -> Result<u64, StoreError> {
    let nobody = PoolJobFilter { client: Some(UserId(99)), status: None };
    let page = reader.pool_jobs(&nobody, &Cursor { after: None, limit: 10 })?;
    assert!(page.items.is_empty(), "nobody has no jobs");
    Ok(50_000)
}

fn job(id: PoolJobId) -> PoolJobRecord {
    let draft = PoolJobDraft {
        payload: "{\"op\":\"sum\",\"numbers\":[1,2,3,4,5,6,7,8],\"label\":\"a job of ordinary size\"}".into(),
        priority: 50,
        demand: Demand::default(),
        requires_json: None,
        max_attempts: None,
        timeout: None,
        verify_output_hash: false,
        redundancy: 1,
    };
    PoolJobRecord { id, client: UserId(2), max_attempts: 3, draft, created_at: AT }
}

fn granted(job: PoolJobId) -> AssignmentRecord {
    AssignmentRecord {
        id: AssignmentId::new(job, 1),
        worker: PoolWorkerId(3),
        owner: UserId(4),
        fence: Fence(u128::from(job.0) << 64 | 0xabcd),
        state: AssignmentState::Assigned,
        granted_at: AT,
        timeout_at: None,
        ended_at: None,
        digest: None,
        output_hash: None,
        vote: None,
        result: None,
    }
}

fn done(job: PoolJobId) -> AssignmentRecord {
    let granted = granted(job);
    let result = PoolResult {
        assignment: granted.id,
        nonce: Some(granted.fence),
        signature: "s".repeat(86).into(),
        public_key: "k".repeat(43).into(),
        output: Some("{\"sum\":36}".into()),
        output_hash: Some("0123456789abcdef".repeat(4).into()),
        hash_matches: Some(true),
        vote: None,
        error: None,
        artifact_uri: None,
        metrics: None,
        digest: [7; 32],
        batch: None,
    };
    AssignmentRecord {
        state: AssignmentState::Completed,
        ended_at: Some(AT),
        digest: Some(result.digest),
        output_hash: result.output_hash.clone(),
        vote: None,
        result: Some(Arc::new(result)),
        ..granted
    }
}

fn end(job: PoolJobId) -> PoolEndRecord {
    let (status, assignment) = (PoolJobStatus::Completed, Some(AssignmentId::new(job, 1)));
    PoolEndRecord { job, client: UserId(2), status, assignment, error: None, at: AT }
}

fn report(what: &str, count: u64, started: Instant) {
    let milliseconds = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX).max(1);
    println!("{count:>8} {what} in {milliseconds} ms: {}/s", count * 1_000 / milliseconds);
}

const AT: Timestamp = Timestamp(1_760_000_000_000);
const LATER: Timestamp = Timestamp(AT.0 + 1);
