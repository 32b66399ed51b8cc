//! The server's own tables after it stopped, read as anybody could: with plain SQL.

use crate::failure::Failure;
use muster_store::StoreError;
use rusqlite::{Connection, OpenFlags, Row};
use std::{collections::BTreeMap, path::Path};

/// What the tables say.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Runs by id, with their status.
    pub(super) runs: BTreeMap<String, String>,
    /// Rows of `task_devices` by run.
    pub(super) rows: BTreeMap<String, Vec<TaskDevice>>,
    /// Callbacks recorded, by node.
    pub(super) reports: BTreeMap<String, u64>,
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
}

/// One row of `task_devices`.
#[derive(Clone, Debug)]
pub(super) struct TaskDevice {
    pub(super) device: String,
    pub(super) status: String,
    pub(super) attempt: u16,
}

impl Ledger {
    pub(super) fn read(directory: &Path) -> Result<Self, Failure> {
        let file = directory.join("muster.db");
        Self::query(&file).map_err(|error| StoreError::Backend(error.to_string()).into())
    }

    fn query(file: &Path) -> rusqlite::Result<Self> {
        let db = Connection::open_with_flags(file, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut rows: BTreeMap<String, Vec<TaskDevice>> = BTreeMap::new();
        for (run, row) in all(&db, ROWS, task_device)? {
            rows.entry(run).or_default().push(row);
        }
        let count = |sql: &str| db.query_row(sql, [], |row| row.get::<_, u32>(0)).map(u64::from);
        Ok(Self {
            runs: all(&db, "SELECT id, status FROM tasks", pair)?.into_iter().collect(),
            rows,
            reports: all(&db, REPORTS, count_of)?.into_iter().collect(),
            report_ids: count("SELECT count(*) FROM event_ids")?,
            sent: count("SELECT count(*) FROM execution_logs WHERE event_type = 'SENT'")?,
            ended: count("SELECT count(*) FROM execution_logs WHERE event_type IN ('SUCCEEDED', 'FAILED')")?,
            alerts: all(&db, "SELECT message, task_id FROM alerts", pair)?,
            out_of_service: count("SELECT count(*) FROM devices WHERE status = 'ERROR'")?,
        })
    }
}

fn task_device(row: &Row<'_>) -> rusqlite::Result<(String, TaskDevice)> {
    Ok((row.get(0)?, TaskDevice { device: row.get(1)?, status: row.get(2)?, attempt: row.get(3)? }))
}

fn pair<A: rusqlite::types::FromSql, B: rusqlite::types::FromSql>(row: &Row<'_>) -> rusqlite::Result<(A, B)> {
    Ok((row.get(0)?, row.get(1)?))
}

fn count_of(row: &Row<'_>) -> rusqlite::Result<(String, u64)> {
    Ok((row.get(0)?, u64::from(row.get::<_, u32>(1)?)))
}

fn all<T>(db: &Connection, sql: &str, read: fn(&Row<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<Vec<T>> {
    db.prepare(sql)?.query_map([], read)?.collect()
}

const ROWS: &str = "SELECT task_id, device_id, status, attempt FROM task_devices";
const REPORTS: &str = "SELECT node_id, count(*) FROM node_events GROUP BY node_id";
