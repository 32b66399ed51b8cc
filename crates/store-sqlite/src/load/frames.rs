//! What is live of sessions.

use crate::{
    fault::Fault,
    rows::{chunk, each, farm, frame_task, quarantine, renderer, sequence, session},
};
use muster_model::{FrameChange, SessionId};
use muster_store::Loaded;
use rusqlite::{Connection, Params, Row};

/// Reads all live rows of sessions.
pub(crate) fn load(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    sink(Loaded::Frames(FrameChange::Farm(farm::read(connection)?)));
    let mut rows = Handover { connection, sink };
    let sql = format!("SELECT {} FROM sim_workers ORDER BY id", renderer::COLUMNS_WITHOUT_DESCRIPTION);
    rows.hand_over(&sql, [], |row| Ok(FrameChange::Renderer(Box::new(renderer::read(row)?))))?;
    let open = rows.hand_over_sessions()?;
    let columns = frame_task::COLUMNS_WITHOUT_RESULT;
    let sql = format!("SELECT {columns} FROM sim_tasks WHERE session_id = ?1 ORDER BY start_frame");
    for id in open {
        rows.hand_over(&sql, [id.as_str()], |row| Ok(FrameChange::Task(Box::new(frame_task::read(row)?))))?;
    }
    // By their sessions: the open ones are found among any amount of history.
    let sql = format!(
        "SELECT {} FROM (SELECT id FROM sim_sessions WHERE open = 1) AS s CROSS JOIN sim_chunks \
         WHERE session_id = s.id AND state = 'live' ORDER BY chunk_id",
        chunk::COLUMNS
    );
    rows.hand_over(&sql, [], |row| Ok(FrameChange::Chunk(chunk::read(row)?)))?;
    let sql = format!("SELECT {} FROM sim_quarantine WHERE moved = 0 ORDER BY at, id", quarantine::COLUMNS);
    rows.hand_over(&sql, [], |row| Ok(FrameChange::Quarantine(Box::new(quarantine::read(row)?))))?;
    sink(Loaded::SessionSeq(sequence::largest(connection, sequence::SESSIONS)?));
    Ok(())
}

/// Where rows come from and go to.
struct Handover<'a> {
    connection: &'a Connection,
    sink: &'a mut dyn FnMut(Loaded),
}

impl Handover<'_> {
    /// Hands over what a query finds.
    fn hand_over(
        &mut self,
        sql: &str,
        params: impl Params,
        read: impl Fn(&Row<'_>) -> Result<FrameChange, Fault>,
    ) -> Result<(), Fault> {
        each(self.connection, sql, params, |row| {
            (self.sink)(Loaded::Frames(read(row)?));
            Ok(())
        })
    }

    /// Hands over open sessions; answers which.
    fn hand_over_sessions(&mut self) -> Result<Vec<SessionId>, Fault> {
        let mut ids = Vec::new();
        let columns = session::COLUMNS_WITHOUT_BODY;
        let sql = format!("SELECT {columns} FROM sim_sessions WHERE open = 1 ORDER BY seq");
        each(self.connection, &sql, [], |row| {
            let session = session::read(row)?;
            ids.push(session.id.clone());
            (self.sink)(Loaded::Frames(FrameChange::Session(Box::new(session))));
            Ok(())
        })?;
        Ok(ids)
    }
}
