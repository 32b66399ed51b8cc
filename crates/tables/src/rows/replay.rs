//! Table `sim_replays` (S16).

use super::{integer, put_one};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Sink},
};
use muster_model::{FrameRange, ReplayRecord};

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "session_id, new_chunk_id, start_frame, end_frame, retired_chunk_id, at";

/// Adds a replay.
pub(crate) fn write(sink: &mut dyn Sink, replay: &ReplayRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            replay.session.as_str().into(),
            integer(replay.new)?.into(),
            integer(replay.range.start)?.into(),
            integer(replay.range.end)?.into(),
            integer(replay.retired)?.into(),
            replay.at.into(),
        ],
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<ReplayRecord, Fault> {
    let fields = Fields::new("sim_replays", row);
    Ok(ReplayRecord {
        session: fields.session(0)?,
        new: fields.number(1)?,
        range: FrameRange { start: fields.number(2)?, end: fields.number(3)? },
        retired: fields.number(4)?,
        at: fields.time(5)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_replays",
    columns: &[
        text("session_id"),
        number("new_chunk_id"),
        number("start_frame"),
        number("end_frame"),
        number("retired_chunk_id"),
        number("at"),
    ],
    key: &["session_id", "new_chunk_id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
