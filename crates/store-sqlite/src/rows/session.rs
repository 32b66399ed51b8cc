//! Tables `sim_sessions` and `sim_session_bodies` (S26).

use super::{integer, latest, sequence};
use crate::{fault::Fault, fields::Fields, words};
use muster_model::{SessionId, SessionRecord};
use rusqlite::{Connection, Row, params};

/// What [`read`] expects, in its order, of a query that joins the body.
pub(crate) const COLUMNS: &str = "id, seq, status, total_frames, frames_per_task, strict, output_directory, digest, \
     completed_frames, open, created_at, ended_at, error, body";

/// What [`read`] expects, but for the body.
pub(crate) const COLUMNS_WITHOUT_BODY: &str = "id, seq, status, total_frames, frames_per_task, strict, \
     output_directory, digest, completed_frames, open, created_at, ended_at, error, NULL AS body";

/// Writes the last state of each session, and the bodies there are.
pub(crate) fn write(connection: &Connection, records: Vec<&SessionRecord>) -> Result<(), Fault> {
    for session in &records {
        if let Some(body) = &session.body {
            write_body(connection, &session.id, body)?;
        }
    }
    sequence::raise(connection, sequence::SESSIONS, records.iter().map(|record| record.seq).max())?;
    latest(records, |record| &record.id).into_iter().try_for_each(|session| write_one(connection, session))
}

/// Deletes a session.
pub(crate) fn delete(connection: &Connection, id: &SessionId) -> Result<(), Fault> {
    for sql in
        ["DELETE FROM sim_session_bodies WHERE session_id = ?1", "DELETE FROM sim_sessions WHERE id = ?1"]
    {
        connection.prepare_cached(sql)?.execute([id.as_str()])?;
    }
    Ok(())
}

/// Makes a record of a row.
pub(crate) fn read(row: &Row<'_>) -> Result<SessionRecord, Fault> {
    let fields = Fields::new("sim_sessions", row);
    Ok(SessionRecord {
        id: fields.session(0)?,
        seq: fields.number(1)?,
        status: fields.word(2, words::parse_session_status)?,
        total_frames: fields.number(3)?,
        frames_per_task: fields.number(4)?,
        strict: fields.flag(5)?,
        output: fields.text(6)?.into(),
        digest: fields.digest(7)?,
        completed_frames: fields.number(8)?,
        open: fields.flag(9)?,
        created_at: fields.time(10)?,
        ended_at: fields.maybe_time(11)?,
        error: fields.maybe_text(12)?,
        body: fields.maybe_text(13)?,
    })
}

fn write_one(connection: &Connection, session: &SessionRecord) -> Result<(), Fault> {
    connection.prepare_cached(UPSERT)?.execute(params![
        session.id.as_str(),
        integer(session.seq)?,
        session.status.as_str(),
        integer(session.total_frames)?,
        integer(session.frames_per_task)?,
        session.strict,
        session.output,
        session.digest.0.to_be_bytes(),
        integer(session.completed_frames)?,
        session.open,
        session.created_at.0,
        session.ended_at.map(|at| at.0),
        session.error.as_deref(),
    ])?;
    Ok(())
}

fn write_body(connection: &Connection, id: &SessionId, body: &str) -> Result<(), Fault> {
    connection
        .prepare_cached("INSERT OR REPLACE INTO sim_session_bodies (session_id, body) VALUES (?1, ?2)")?
        .execute([id.as_str(), body])?;
    Ok(())
}

const UPSERT: &str = "INSERT INTO sim_sessions (id, seq, status, total_frames, frames_per_task, strict, \
     output_directory, digest, completed_frames, open, created_at, ended_at, error) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13) \
     ON CONFLICT (id) DO UPDATE SET seq = ?2, status = ?3, total_frames = ?4, frames_per_task = ?5, strict = ?6, \
     output_directory = ?7, digest = ?8, completed_frames = ?9, open = ?10, created_at = ?11, ended_at = ?12, \
     error = ?13";
