//! The tables of the pool, read with plain SQL.

use super::{all, count, in_words, open};
use crate::failure::Failure;
use rusqlite::{Connection, Row};
use std::{collections::BTreeMap, path::Path};

/// What the tables say of the pool.
#[derive(Debug, Default)]
pub(in super::super) struct PoolLedger {
    /// How many jobs there are.
    pub(in super::super) jobs: u64,
    /// How jobs ended, by their ids.
    pub(in super::super) ends: BTreeMap<u64, JobEnd>,
    /// In the order of their ids.
    pub(in super::super) assignments: Vec<Assignment>,
    pub(in super::super) workers: Vec<PoolWorker>,
}

/// One row of `pool_ends`.
#[derive(Clone, Debug)]
pub(in super::super) struct JobEnd {
    pub(in super::super) status: String,
    /// Whose result was taken for the job's.
    pub(in super::super) assignment: Option<u64>,
}

/// One row of `pool_assignments`.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct Assignment {
    pub(in super::super) id: u64,
    pub(in super::super) worker: u64,
    pub(in super::super) owner: u64,
    pub(in super::super) state: String,
    pub(in super::super) granted_at: i64,
    pub(in super::super) nonce: Vec<u8>,
    pub(in super::super) output_hash: Option<String>,
    /// There is a result, which its worker signed.
    pub(in super::super) is_signed: bool,
}

/// One row of `workers`.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct PoolWorker {
    pub(in super::super) id: u64,
    pub(in super::super) name: String,
    pub(in super::super) status: String,
    pub(in super::super) agreements: u64,
    pub(in super::super) dissents: u64,
}

impl PoolLedger {
    pub(super) fn query(db: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            jobs: count(db, "SELECT count(*) FROM pool_jobs")?,
            ends: all(db, "SELECT id, status, assignment_id FROM pool_ends", job_end)?.into_iter().collect(),
            assignments: all(db, ASSIGNMENTS, assignment)?,
            workers: all(db, "SELECT id, name, status, agreements, dissents FROM workers", worker)?,
        })
    }

    /// The assignments of a job.
    pub(in super::super) fn assignments_of(&self, job: u64) -> impl Iterator<Item = &Assignment> {
        self.assignments.iter().filter(move |assignment| assignment.job() == job)
    }
}

impl Assignment {
    /// The job that its id names.
    pub(in super::super) const fn job(&self) -> u64 {
        self.id / PER_JOB
    }

    /// Whether it is the job's first.
    pub(in super::super) const fn is_first(&self) -> bool {
        self.id % PER_JOB == 1
    }
}

/// What a worker has begun and not handed in, also while the server runs.
pub(in super::super) fn begun_by(directory: &Path, worker: u64) -> Result<Vec<u64>, Failure> {
    let sql = format!("SELECT id FROM pool_assignments WHERE worker_id = {worker} AND state = 'STARTED'");
    in_words(open(directory).and_then(|db| all(&db, &sql, |row| id(row, 0))))
}

/// How many results of a worker were taken, also while the server runs.
pub(in super::super) fn results_of(directory: &Path, worker: u64) -> Result<u64, Failure> {
    let sql =
        format!("SELECT count(*) FROM pool_assignments WHERE worker_id = {worker} AND state = 'COMPLETED'");
    in_words(open(directory).and_then(|db| count(&db, &sql)))
}

fn job_end(row: &Row<'_>) -> rusqlite::Result<(u64, JobEnd)> {
    let assignment: Option<i64> = row.get(2)?;
    let assignment = assignment.and_then(|id| u64::try_from(id).ok());
    Ok((id(row, 0)?, JobEnd { status: row.get(1)?, assignment }))
}

fn assignment(row: &Row<'_>) -> rusqlite::Result<Assignment> {
    Ok(Assignment {
        id: id(row, 0)?,
        worker: id(row, 1)?,
        owner: id(row, 2)?,
        state: row.get(3)?,
        granted_at: row.get(4)?,
        nonce: row.get(5)?,
        output_hash: row.get(6)?,
        is_signed: row.get(7)?,
    })
}

fn worker(row: &Row<'_>) -> rusqlite::Result<PoolWorker> {
    let (agreements, dissents) = (id(row, 3)?, id(row, 4)?);
    Ok(PoolWorker { id: id(row, 0)?, name: row.get(1)?, status: row.get(2)?, agreements, dissents })
}

/// A number that is never negative.
fn id(row: &Row<'_>, column: usize) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

const ASSIGNMENTS: &str = "SELECT id, worker_id, owner_user_id, state, granted_at, nonce, output_hash, \
     signature IS NOT NULL FROM pool_assignments ORDER BY id";
/// Ids of assignments are so many times the job's, and a number.
const PER_JOB: u64 = 64;
