//! Table `workers` (P3, P12).

use super::{integer, needed, specs};
use crate::{fault::Fault, fields::Fields};
use muster_model::{PoolWorkerId, PoolWorkerRecord, PoolWorkerStatus, Specs, Timestamp, UserId};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, name, owner_user_id, status, region, specs, public_key, slots, draining, \
     ban_reason, agreements, dissents, last_seen_at, created_at, specs_json";

/// What [`read`] expects, but for the specs as JSON.
pub(crate) const COLUMNS_WITHOUT_JSON: &str = "id, name, owner_user_id, status, region, specs, public_key, slots, \
     draining, ban_reason, agreements, dissents, last_seen_at, created_at, NULL AS specs_json";

/// Writes the last state of each worker; leaves its specs as JSON where the record has none.
pub(crate) fn write(connection: &Connection, records: Vec<&PoolWorkerRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(UPSERT)?;
    for worker in needed(records, |record| record.id, |record| record.specs_json.is_some()) {
        statement.execute(params![
            integer(worker.id.0)?,
            worker.name,
            integer(worker.owner.0)?,
            worker.status.as_str(),
            worker.region.as_deref(),
            specs::text(&worker.specs),
            worker.public_key.as_deref(),
            worker.slots,
            worker.draining,
            worker.ban_reason.as_deref(),
            worker.agreements,
            worker.dissents,
            worker.last_seen.map(|at| at.0),
            worker.created_at.0,
            worker.specs_json.as_deref(),
        ])?;
    }
    Ok(())
}

/// Writes signs of life down, where they are news; whether a worker is shut out is another matter (P5).
pub(crate) fn write_sightings(
    connection: &Connection,
    sightings: &[(PoolWorkerId, Timestamp)],
) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "UPDATE workers SET last_seen_at = ?2 WHERE id = ?1 AND (last_seen_at IS NULL OR last_seen_at < ?2)",
    )?;
    for (worker, at) in sightings {
        statement.execute(params![integer(worker.0)?, at.0])?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<PoolWorkerRecord, Fault> {
    let fields = Fields::new("workers", row);
    Ok(PoolWorkerRecord {
        id: PoolWorkerId(fields.number(0)?),
        name: fields.text(1)?.into(),
        owner: UserId(fields.number(2)?),
        status: fields.word(3, PoolWorkerStatus::from_word)?,
        region: fields.maybe_text(4)?,
        specs: if fields.is_null(5)? { Specs::default() } else { fields.word(5, specs::parse)? },
        public_key: fields.maybe_text(6)?,
        slots: fields.number(7)?,
        draining: fields.flag(8)?,
        ban_reason: fields.maybe_text(9)?,
        agreements: fields.number(10)?,
        dissents: fields.number(11)?,
        last_seen: fields.maybe_time(12)?,
        created_at: fields.time(13)?,
        specs_json: fields.maybe_text(14)?,
    })
}

/// REPLACE would delete another worker of the same name. What was seen stays seen.
const UPSERT: &str = "INSERT INTO workers (id, name, owner_user_id, status, region, specs, public_key, slots, draining, \
     ban_reason, agreements, dissents, last_seen_at, created_at, specs_json) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15) \
     ON CONFLICT (id) DO UPDATE SET name = ?2, owner_user_id = ?3, status = ?4, region = ?5, specs = ?6, public_key = ?7, \
     slots = ?8, draining = ?9, ban_reason = ?10, agreements = ?11, dissents = ?12, \
     last_seen_at = max(coalesce(?13, last_seen_at), coalesce(last_seen_at, ?13)), created_at = ?14, \
     specs_json = coalesce(?15, specs_json)";
