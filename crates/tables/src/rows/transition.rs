//! Table `sim_transitions` (S11).

use super::put_one;
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, number, text},
    sql::{Cells, Sink},
};
use muster_model::TransitionRecord;

/// What [`read`] expects, in its order.
pub(crate) const COLUMNS: &str = "worker_id, from_state, to_state, cause, at";

/// Adds a transition.
pub(crate) fn write(sink: &mut dyn Sink, transition: &TransitionRecord) -> Result<(), Fault> {
    put_one(
        sink,
        &PUT,
        &[
            transition.worker.as_str().into(),
            transition.from.as_str().into(),
            transition.to.as_str().into(),
            (&*transition.cause).into(),
            transition.at.into(),
        ],
    )
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<TransitionRecord, Fault> {
    let fields = Fields::new("sim_transitions", row);
    Ok(TransitionRecord {
        worker: fields.name(0)?,
        from: fields.word(1, muster_model::RendererState::from_word)?,
        to: fields.word(2, muster_model::RendererState::from_word)?,
        cause: fields.text(3)?.into(),
        at: fields.time(4)?,
    })
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_transitions",
    columns: &[
        text("worker_id"),
        text("from_state"),
        text("to_state"),
        text("cause"),
        number("at"),
        number("id"),
    ],
    key: &["id"],
    numbered: true,
};

static PUT: Put = TABLE.put_numbered();
