//! Table `pcs`.

use super::latest;
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{Name, Timestamp, WorkerRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str =
    "id, status, status_since, max_devices, draining, paused_until, lease_until, last_seen_at, created_at";

/// Writes the last state of each worker.
pub(crate) fn write(connection: &Connection, records: Vec<&WorkerRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(REPLACE)?;
    for worker in latest(records, |record| record.id.clone()) {
        statement.execute(params![
            worker.id.as_str(),
            worker.status.as_str(),
            worker.status_since.0,
            worker.cap,
            worker.draining,
            worker.paused_until.map(|at| at.0),
            worker.lease_until.0,
            worker.last_seen.0,
            worker.created_at.0,
        ])?;
    }
    Ok(())
}

/// Writes signs of life down, where they are news.
pub(crate) fn write_sightings(connection: &Connection, sightings: &[(Name, Timestamp)]) -> Result<(), Fault> {
    let mut statement =
        connection.prepare_cached("UPDATE pcs SET last_seen_at = ?2 WHERE id = ?1 AND last_seen_at < ?2")?;
    for (worker, at) in sightings {
        statement.execute(params![worker.as_str(), at.0])?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<WorkerRecord, Fault> {
    let fields = Fields::new("pcs", row);
    Ok(WorkerRecord {
        id: fields.name(0)?,
        status: fields.word(1, words::parse_worker_status)?,
        status_since: fields.time(2)?,
        cap: fields.maybe_number(3)?,
        draining: fields.flag(4)?,
        paused_until: fields.maybe_time(5)?,
        lease_until: fields.time(6)?,
        last_seen: fields.time(7)?,
        created_at: fields.time(8)?,
    })
}

const REPLACE: &str = "INSERT OR REPLACE INTO pcs (id, pc_number, status, status_since, max_devices, draining, \
     paused_until, lease_until, last_seen_at, created_at) VALUES (?1, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
