//! Tables `sim_sessions` and `sim_session_bodies` (S26).

use super::{integer, latest, put, sequence};
use crate::{
    fault::Fault,
    fields::Fields,
    shape::{Put, TableShape, Update, bytes, number, text},
    sql::{Cells, Row, Sink, Sql},
};
use muster_model::{SessionId, SessionRecord};

/// What [`read`] expects, in its order, of a query that joins the body.
pub(crate) const COLUMNS: &str = "id, seq, status, total_frames, frames_per_task, strict, output_directory, digest, \
     completed_frames, failed_frames, open, created_at, ended_at, error, body";

/// What [`read`] expects, but for the body.
pub(crate) const COLUMNS_WITHOUT_BODY: &str = "id, seq, status, total_frames, frames_per_task, strict, \
     output_directory, digest, completed_frames, failed_frames, open, created_at, ended_at, error, CAST(NULL AS TEXT) AS body";

/// Writes the last state of each session, and the bodies there are.
pub(crate) fn write(sink: &mut dyn Sink, records: Vec<&SessionRecord>) -> Result<(), Fault> {
    let with_body = records.iter().copied().filter(|session| session.body.is_some()).collect();
    put(sink, &PUT_BODY, &latest(with_body, |record| &record.id), |session, row| {
        row.values(&[session.id.as_str().into(), session.body.as_deref().into()]);
        Ok(())
    })?;
    sequence::raise(sink, sequence::SESSIONS, records.iter().map(|record| record.seq).max())?;
    put(sink, &PUT, &latest(records, |record| &record.id), fill)
}

/// Deletes a session.
pub(crate) fn delete(connection: &dyn Sql, id: &SessionId) -> Result<(), Fault> {
    for sql in
        ["DELETE FROM sim_session_bodies WHERE session_id = ?1", "DELETE FROM sim_sessions WHERE id = ?1"]
    {
        connection.execute(sql, &[id.as_str().into()])?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &dyn Cells) -> Result<SessionRecord, Fault> {
    let fields = Fields::new("sim_sessions", row);
    Ok(SessionRecord {
        id: fields.session(0)?,
        seq: fields.number(1)?,
        status: fields.word(2, muster_model::SessionStatus::from_word)?,
        total_frames: fields.number(3)?,
        frames_per_task: fields.number(4)?,
        strict: fields.flag(5)?,
        output: fields.text(6)?.into(),
        digest: fields.digest(7)?,
        completed_frames: fields.number(8)?,
        failed_frames: fields.number(9)?,
        open: fields.flag(10)?,
        created_at: fields.time(11)?,
        ended_at: fields.maybe_time(12)?,
        error: fields.maybe_text(13)?,
        body: fields.maybe_text(14)?,
    })
}

fn fill(session: &SessionRecord, row: &mut dyn Row) -> Result<(), Fault> {
    row.values(&[
        session.id.as_str().into(),
        integer(session.seq)?.into(),
        session.status.as_str().into(),
        integer(session.total_frames)?.into(),
        integer(session.frames_per_task)?.into(),
        session.strict.into(),
        (&*session.output).into(),
        (&session.digest.0.to_be_bytes()).into(),
        integer(session.completed_frames)?.into(),
        integer(session.failed_frames)?.into(),
        session.open.into(),
        session.created_at.into(),
        session.ended_at.into(),
        session.error.as_deref().into(),
    ]);
    Ok(())
}

/// The table of sessions.
pub(crate) const TABLE: TableShape = TableShape {
    name: "sim_sessions",
    columns: &[
        text("id"),
        number("seq"),
        text("status"),
        number("total_frames"),
        number("frames_per_task"),
        number("strict"),
        text("output_directory"),
        bytes("digest"),
        number("completed_frames"),
        number("failed_frames"),
        number("open"),
        number("created_at"),
        number("ended_at"),
        text("error"),
    ],
    key: &["id"],
    numbered: false,
};

/// The table of what they were submitted with.
pub(crate) const BODIES: TableShape = TableShape {
    name: "sim_session_bodies",
    columns: &[text("session_id"), text("body")],
    key: &["session_id"],
    numbered: false,
};

static PUT: Put = TABLE.put(Update::Named);

static PUT_BODY: Put = BODIES.put(Update::Whole);
