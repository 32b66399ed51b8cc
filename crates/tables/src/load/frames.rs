//! What is live of sessions.

use super::Handover;
use crate::{
    fault::Fault,
    rows::{chunk, farm, frame_task, quarantine, renderer, sequence, session},
    sql::Cells,
    value::Value,
};
use muster_model::FrameChange;
use muster_store::Loaded;

/// Reads all live rows of sessions.
pub(super) fn load(rows: &mut Handover<'_>) -> Result<(), Fault> {
    (rows.sink)(Loaded::Frames(FrameChange::Farm(farm::read(rows.connection)?)));
    let sql = format!("SELECT {} FROM sim_workers ORDER BY id", renderer::COLUMNS_WITHOUT_DESCRIPTION);
    hand_over(rows, &sql, |row| Ok(FrameChange::Renderer(Box::new(renderer::read(row)?))))?;
    load_sessions(rows)?;
    let sql = format!("SELECT {} FROM sim_quarantine WHERE moved = 0 ORDER BY at, id", quarantine::COLUMNS);
    hand_over(rows, &sql, |row| Ok(FrameChange::Quarantine(Box::new(quarantine::read(row)?))))?;
    (rows.sink)(Loaded::SessionSeq(sequence::largest(rows.connection, sequence::SESSIONS)?));
    Ok(())
}

/// Reads open sessions, their ranges, and the grants of these that are live.
fn load_sessions(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let mut ids = Vec::new();
    let columns = session::COLUMNS_WITHOUT_BODY;
    let sql = format!("SELECT {columns} FROM sim_sessions WHERE open = 1 ORDER BY seq");
    rows.connection.each(&sql, &[], &mut |row| {
        let session = session::read(row)?;
        ids.push(session.id.clone());
        (rows.sink)(Loaded::Frames(FrameChange::Session(Box::new(session))));
        Ok(())
    })?;
    let columns = frame_task::COLUMNS_WITHOUT_RESULT;
    let sql = format!("SELECT {columns} FROM sim_tasks WHERE session_id = ?1 ORDER BY start_frame");
    let ids: Vec<Value<'_>> = ids.iter().map(|id| id.as_str().into()).collect();
    rows.hand_over_for(&sql, ids.chunks(1), |row| {
        Ok(Loaded::Frames(FrameChange::Task(Box::new(frame_task::read(row)?))))
    })?;
    // By their sessions: the open ones are found among any amount of history.
    let sql = format!(
        "SELECT {} FROM (SELECT id FROM sim_sessions WHERE open = 1) AS s CROSS JOIN sim_chunks \
         WHERE session_id = s.id AND state = 'live' ORDER BY chunk_id",
        chunk::COLUMNS
    );
    hand_over(rows, &sql, |row| Ok(FrameChange::Chunk(chunk::read(row)?)))
}

fn hand_over(
    rows: &mut Handover<'_>,
    sql: &str,
    read: impl Fn(&dyn Cells) -> Result<FrameChange, Fault>,
) -> Result<(), Fault> {
    rows.hand_over(sql, |row| read(row).map(Loaded::Frames))
}
