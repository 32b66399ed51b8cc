//! Table `pool_ends` (P13).

use super::{integer, latest, put};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, number, text},
    sql::{Cells, Row, Sink},
};
use muster_model::{AssignmentId, PoolEndRecord, PoolJobId, PoolJobStatus, UserId};

/// What [`read_at`] expects, in its order.
pub(crate) const COLUMNS: &str = "e.id, e.client_user_id, e.status, e.assignment_id, e.error, e.finished_at";

/// How many columns [`read_at`] expects.
pub(crate) const WIDTH: usize = 6;

/// Adds ends.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&PoolEndRecord>) -> Result<(), Fault> {
    put(sink, &PUT, &latest(records, |record| record.job), fill)
}

/// Makes a record of a row, from a column on.
pub(crate) fn read_at(row: &dyn Cells, first: usize) -> Result<PoolEndRecord, Fault> {
    let fields = Fields::from("pool_ends", row, first);
    Ok(PoolEndRecord {
        job: PoolJobId(fields.number(0)?),
        client: UserId(fields.number(1)?),
        status: fields.word(2, ended)?,
        assignment: fields.maybe_number(3)?.map(AssignmentId),
        error: fields.maybe_text(4)?,
        at: fields.time(5)?,
    })
}

/// The status of that word, if it is that of an end.
pub(crate) fn ended(word: &str) -> Option<PoolJobStatus> {
    PoolJobStatus::from_word(word).filter(|status| status.is_ended())
}

fn fill(end: &PoolEndRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        integer(end.job.0)?.into(),
        integer(end.client.0)?.into(),
        end.status.as_str().into(),
        end.assignment.map(|id| integer(id.0)).transpose()?.into(),
        end.error.as_deref().into(),
        end.at.into(),
    ]);
    Ok(())
}

/// The table.
pub(crate) const TABLE: TableShape = TableShape {
    name: "pool_ends",
    columns: &[
        number("id"),
        number("client_user_id"),
        text("status"),
        number("assignment_id"),
        text("error"),
        number("finished_at"),
    ],
    key: &["id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Whole);
