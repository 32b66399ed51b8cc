//! Table `sim_transitions` (S11).

use crate::{fault::Fault, fields::Fields, words};
use muster_model::TransitionRecord;
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "worker_id, from_state, to_state, cause, at";

/// Adds a transition.
pub(crate) fn write(connection: &Connection, transition: &TransitionRecord) -> Result<(), Fault> {
    let sql = "INSERT INTO sim_transitions (worker_id, from_state, to_state, cause, at) VALUES (?1, ?2, ?3, ?4, ?5)";
    connection.prepare_cached(sql)?.execute(params![
        transition.worker.as_str(),
        transition.from.as_str(),
        transition.to.as_str(),
        transition.cause,
        transition.at.0,
    ])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<TransitionRecord, Fault> {
    let fields = Fields::new("sim_transitions", row);
    Ok(TransitionRecord {
        worker: fields.name(0)?,
        from: fields.word(1, words::parse_renderer_state)?,
        to: fields.word(2, words::parse_renderer_state)?,
        cause: fields.text(3)?.into(),
        at: fields.time(4)?,
    })
}
