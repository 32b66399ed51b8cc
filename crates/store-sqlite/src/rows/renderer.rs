//! Table `sim_workers`.

use super::lists;
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{Name, RendererRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "id, state, state_since, token_sha256, endpoint, slots, failures, registered_at, \
     last_heartbeat_at, description";

/// What [`read`] expects, but for the description.
pub(crate) const COLUMNS_WITHOUT_DESCRIPTION: &str = "id, state, state_since, token_sha256, endpoint, slots, failures, \
     registered_at, last_heartbeat_at, NULL AS description";

/// Writes a worker; leaves its description where the record has none.
pub(crate) fn write(connection: &Connection, renderer: &RendererRecord) -> Result<(), Fault> {
    connection.prepare_cached(UPSERT)?.execute(params![
        renderer.id.as_str(),
        renderer.state.as_str(),
        renderer.state_since.0,
        renderer.token_hash,
        renderer.endpoint.as_deref(),
        renderer.slots,
        lists::times_text(&renderer.failures),
        renderer.registered_at.0,
        renderer.last_heartbeat.map(|at| at.0),
        renderer.description.as_deref(),
    ])?;
    Ok(())
}

/// Deletes a worker.
pub(crate) fn delete(connection: &Connection, id: &Name) -> Result<(), Fault> {
    connection.prepare_cached("DELETE FROM sim_workers WHERE id = ?1")?.execute([id.as_str()])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<RendererRecord, Fault> {
    let fields = Fields::new("sim_workers", row);
    Ok(RendererRecord {
        id: fields.name(0)?,
        state: fields.word(1, words::parse_renderer_state)?,
        state_since: fields.time(2)?,
        token_hash: fields.bytes(3)?,
        endpoint: fields.maybe_text(4)?,
        slots: fields.number(5)?,
        failures: fields.word(6, lists::parse_times)?,
        registered_at: fields.time(7)?,
        last_heartbeat: fields.maybe_time(8)?,
        description: fields.maybe_text(9)?,
    })
}

const UPSERT: &str = "INSERT INTO sim_workers (id, state, state_since, token_sha256, endpoint, slots, failures, \
     registered_at, last_heartbeat_at, description) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) \
     ON CONFLICT (id) DO UPDATE SET state = ?2, state_since = ?3, token_sha256 = ?4, endpoint = ?5, slots = ?6, \
     failures = ?7, registered_at = ?8, last_heartbeat_at = ?9, description = coalesce(?10, description)";
