//! Table `pool_ends` (P13).

use super::{integer, latest, one, sought_number};
use crate::{fault::Fault, fields::Fields};
use muster_model::{AssignmentId, PoolEndRecord, PoolJobId, PoolJobStatus, UserId};
use rusqlite::{Connection, Row};

/// What [`read_at`] expects, in its order.
pub(crate) const COLUMNS: &str = "e.id, e.client_user_id, e.status, e.assignment_id, e.error, e.finished_at";

/// Adds ends.
pub(crate) fn write(connection: &Connection, records: Vec<&PoolEndRecord>) -> Result<(), Fault> {
    let mut statement = connection.prepare_cached(
        "INSERT OR REPLACE INTO pool_ends (id, client_user_id, status, assignment_id, error, finished_at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for end in latest(records, |record| record.job) {
        statement.raw_bind_parameter(1, integer(end.job.0)?)?;
        statement.raw_bind_parameter(2, integer(end.client.0)?)?;
        statement.raw_bind_parameter(3, end.status.as_str())?;
        statement.raw_bind_parameter(4, end.assignment.map(|id| integer(id.0)).transpose()?)?;
        statement.raw_bind_parameter(5, end.error.as_deref())?;
        statement.raw_bind_parameter(6, end.at.0)?;
        statement.raw_execute()?;
    }
    Ok(())
}

/// How a job ended.
pub(crate) fn find(connection: &Connection, job: PoolJobId) -> Result<Option<PoolEndRecord>, Fault> {
    let sql = format!("SELECT {COLUMNS} FROM pool_ends e WHERE e.id = ?1");
    one(connection, &sql, [sought_number(job.0)], |row| read_at(row, 0))
}

/// Makes a record of a row, from a column on.
pub(crate) fn read_at(row: &Row<'_>, first: usize) -> Result<PoolEndRecord, Fault> {
    let fields = Fields::new("pool_ends", row);
    Ok(PoolEndRecord {
        job: PoolJobId(fields.number(first)?),
        client: UserId(fields.number(first + 1)?),
        status: fields.word(first + 2, ended)?,
        assignment: fields.maybe_number(first + 3)?.map(AssignmentId),
        error: fields.maybe_text(first + 4)?,
        at: fields.time(first + 5)?,
    })
}

/// The status of that word, if it is that of an end.
pub(crate) fn ended(word: &str) -> Option<PoolJobStatus> {
    PoolJobStatus::from_word(word).filter(|status| status.is_ended())
}
