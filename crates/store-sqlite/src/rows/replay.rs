//! Table `sim_replays` (S16).

use super::integer;
use crate::{fault::Fault, fields::Fields};
use muster_model::{FrameRange, ReplayRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "session_id, new_chunk_id, start_frame, end_frame, retired_chunk_id, at";

/// Adds a replay.
pub(crate) fn write(connection: &Connection, replay: &ReplayRecord) -> Result<(), Fault> {
    connection.prepare_cached(REPLACE)?.execute(params![
        replay.session.as_str(),
        integer(replay.new)?,
        integer(replay.range.start)?,
        integer(replay.range.end)?,
        integer(replay.retired)?,
        replay.at.0,
    ])?;
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<ReplayRecord, Fault> {
    let fields = Fields::new("sim_replays", row);
    Ok(ReplayRecord {
        session: fields.session(0)?,
        new: fields.number(1)?,
        range: FrameRange { start: fields.number(2)?, end: fields.number(3)? },
        retired: fields.number(4)?,
        at: fields.time(5)?,
    })
}

const REPLACE: &str = "INSERT OR REPLACE INTO sim_replays (session_id, new_chunk_id, start_frame, end_frame, \
     retired_chunk_id, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
