//! The server's own tables after it stopped, read as anybody could: with plain SQL.

pub(super) mod pool;

use super::report::Report;
use crate::failure::Failure;
use muster_store::StoreError;
use pool::PoolLedger;
use rusqlite::{Connection, OpenFlags, Row};
use std::{collections::BTreeMap, path::Path};

/// What the tables say.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Runs by id, with their status.
    pub(super) runs: BTreeMap<String, String>,
    /// Rows of `task_devices` by run.
    pub(super) rows: BTreeMap<String, Vec<TaskDevice>>,
    /// Callbacks, in the order they were recorded; heartbeats are not.
    pub(super) reports: Vec<Report>,
    /// Ids of callbacks remembered.
    pub(super) report_ids: u64,
    /// How often an attempt was sent.
    pub(super) sent: u64,
    /// How often an attempt's end was taken.
    pub(super) ended: u64,
    /// Alerts, with the run each is about.
    pub(super) alerts: Vec<(String, Option<String>)>,
    /// Devices out of service.
    pub(super) out_of_service: u64,
    /// Sessions by id, with their status.
    pub(super) sessions: BTreeMap<String, String>,
    /// Ranges of frames that were done.
    pub(super) ranges: Vec<DoneRange>,
    /// Ranges of frames that nobody ended.
    pub(super) open_ranges: u64,
    pub(super) pool: PoolLedger,
}

/// One row of `sim_tasks` that is done.
#[derive(Debug)]
pub(super) struct DoneRange {
    pub(super) session: String,
    pub(super) worker: String,
    /// How many.
    pub(super) frames: u64,
}

/// One row of `task_devices`.
#[derive(Clone, Debug)]
pub(super) struct TaskDevice {
    pub(super) id: String,
    pub(super) device: String,
    pub(super) status: String,
    pub(super) attempt: u16,
}

impl Ledger {
    pub(super) fn read(directory: &Path) -> Result<Self, Failure> {
        in_words(open(directory).and_then(|db| Self::query(&db)))
    }

    fn query(db: &Connection) -> rusqlite::Result<Self> {
        let mut rows: BTreeMap<String, Vec<TaskDevice>> = BTreeMap::new();
        for (run, row) in all(db, ROWS, task_device)? {
            rows.entry(run).or_default().push(row);
        }
        Ok(Self {
            runs: all(db, "SELECT id, status FROM tasks", pair)?.into_iter().collect(),
            rows,
            reports: all(db, REPORTS, report)?,
            report_ids: count(db, "SELECT count(*) FROM event_ids")?,
            sent: count(db, "SELECT count(*) FROM execution_logs WHERE event_type = 'SENT'")?,
            ended: count(
                db,
                "SELECT count(*) FROM execution_logs WHERE event_type IN ('SUCCEEDED', 'FAILED')",
            )?,
            alerts: all(db, "SELECT message, task_id FROM alerts", pair)?,
            out_of_service: count(db, "SELECT count(*) FROM devices WHERE status = 'ERROR'")?,
            sessions: all(db, "SELECT id, status FROM sim_sessions", pair)?.into_iter().collect(),
            ranges: all(db, RANGES, done_range)?,
            open_ranges: count(
                db,
                "SELECT count(*) FROM sim_tasks WHERE status NOT IN ('completed', 'cancelled')",
            )?,
            pool: PoolLedger::query(db)?,
        })
    }
}

/// How many times a PC still owes the summary of its part of a run, also while the server runs.
pub(super) fn summaries_owed(directory: &Path) -> Result<u64, Failure> {
    in_words(open(directory).and_then(|db| count(&db, "SELECT count(*) FROM pc_runs")))
}

/// How many directories of frames that count no more are still to be set apart, also while the server runs.
pub(super) fn moves_owed(directory: &Path) -> Result<u64, Failure> {
    in_words(open(directory).and_then(|db| count(&db, "SELECT count(*) FROM sim_quarantine WHERE moved = 0")))
}

fn open(directory: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(directory.join("muster.db"), OpenFlags::SQLITE_OPEN_READ_ONLY)
}

fn in_words<T>(read: rusqlite::Result<T>) -> Result<T, Failure> {
    read.map_err(|error| StoreError::Backend(error.to_string()).into())
}

fn task_device(row: &Row<'_>) -> rusqlite::Result<(String, TaskDevice)> {
    let (id, device) = (row.get(1)?, row.get(2)?);
    Ok((row.get(0)?, TaskDevice { id, device, status: row.get(3)?, attempt: row.get(4)? }))
}

fn done_range(row: &Row<'_>) -> rusqlite::Result<DoneRange> {
    let frames = u64::from(row.get::<_, u32>(2)?);
    Ok(DoneRange { session: row.get(0)?, worker: row.get(1)?, frames })
}

fn report(row: &Row<'_>) -> rusqlite::Result<Report> {
    let body: String = row.get(4)?;
    Ok(Report {
        id: row.get(0)?,
        node: row.get(1)?,
        kind: row.get(2)?,
        is_applied: row.get::<_, String>(3)? == "applied",
        body: serde_json::from_str(&body).unwrap_or_default(),
    })
}

fn pair<A: rusqlite::types::FromSql, B: rusqlite::types::FromSql>(row: &Row<'_>) -> rusqlite::Result<(A, B)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn count(db: &Connection, sql: &str) -> rusqlite::Result<u64> {
    db.query_row(sql, [], |row| row.get::<_, u32>(0)).map(u64::from)
}

fn all<T>(db: &Connection, sql: &str, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map([], read)?.collect()
}

const ROWS: &str = "SELECT task_id, id, device_id, status, attempt FROM task_devices";
const REPORTS: &str = "SELECT event_id, node_id, type, effect, body FROM node_events ORDER BY id";
const RANGES: &str =
    "SELECT session_id, worker_id, end_frame - start_frame FROM sim_tasks WHERE status = 'completed'";
