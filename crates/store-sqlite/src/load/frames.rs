//! What is live of sessions.

use crate::{
    fault::Fault,
    rows::{chunk, each, farm, frame_task, quarantine, renderer, sequence, session},
};
use muster_model::FrameChange;
use muster_store::Loaded;
use rusqlite::{Connection, Row};

/// Reads all live rows of sessions.
pub(crate) fn load(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    sink(Loaded::Frames(FrameChange::Farm(farm::read(connection)?)));
    for (sql, read) in queries() {
        each(connection, &sql, [], |row| {
            sink(Loaded::Frames(read(row)?));
            Ok(())
        })?;
    }
    sink(Loaded::SessionSeq(sequence::largest(connection, sequence::SESSIONS)?));
    Ok(())
}

type Read = fn(&Row<'_>) -> Result<FrameChange, Fault>;

/// What to read, in the order of its handing over.
///
/// The ranges and grants of a session are found by its id: the open ones among any amount of history.
fn queries() -> [(String, Read); 5] {
    [
        (format!("SELECT {} FROM sim_workers ORDER BY id", renderer::COLUMNS_WITHOUT_DESCRIPTION), |row| {
            Ok(FrameChange::Renderer(Box::new(renderer::read(row)?)))
        }),
        (
            format!("SELECT {} FROM sim_sessions WHERE open = 1 ORDER BY seq", session::COLUMNS_WITHOUT_BODY),
            |row| Ok(FrameChange::Session(Box::new(session::read(row)?))),
        ),
        (
            format!(
                "SELECT {} FROM (SELECT id, seq FROM sim_sessions WHERE open = 1) AS s CROSS JOIN sim_tasks \
                 WHERE session_id = s.id ORDER BY s.seq, start_frame",
                frame_task::COLUMNS_WITHOUT_RESULT
            ),
            |row| Ok(FrameChange::Task(Box::new(frame_task::read(row)?))),
        ),
        (
            format!(
                "SELECT {} FROM (SELECT id FROM sim_sessions WHERE open = 1) AS s CROSS JOIN sim_chunks \
                 WHERE session_id = s.id AND state = 'live' ORDER BY chunk_id",
                chunk::COLUMNS
            ),
            |row| Ok(FrameChange::Chunk(chunk::read(row)?)),
        ),
        (
            format!("SELECT {} FROM sim_quarantine WHERE moved = 0 ORDER BY at, id", quarantine::COLUMNS),
            |row| Ok(FrameChange::Quarantine(Box::new(quarantine::read(row)?))),
        ),
    ]
}
