//! The changes of sessions in a batch.

use crate::{
    fault::Fault,
    rows::{chunk, diagnostic, farm, frame_task, quarantine, renderer, replay, session, transition},
};
use muster_model::{ChunkRecord, DiagnosticRecord, FarmRecord, FrameChange, FrameTaskRecord, SessionRecord};
use rusqlite::Connection;

/// The changes by table. No row refers to another, so the order between tables is free.
#[derive(Default)]
pub(crate) struct Sorted<'a> {
    tasks: Vec<&'a FrameTaskRecord>,
    chunks: Vec<&'a ChunkRecord>,
    sessions: Vec<&'a SessionRecord>,
    diagnostics: Vec<&'a DiagnosticRecord>,
    farm: Option<&'a FarmRecord>,
}

impl<'a> Sorted<'a> {
    /// Puts a change with its like; writes it at once where there are never many.
    pub(crate) fn take(&mut self, connection: &Connection, change: &'a FrameChange) -> Result<(), Fault> {
        match change {
            FrameChange::Task(record) => self.tasks.push(record),
            FrameChange::Chunk(record) => self.chunks.push(record),
            FrameChange::Session(record) => self.sessions.push(record),
            FrameChange::Diagnostic(record) => self.diagnostics.push(record),
            FrameChange::Farm(record) => self.farm = Some(record),
            FrameChange::Renderer(record) => renderer::write(connection, record)?,
            FrameChange::RendererGone(id) => renderer::delete(connection, id)?,
            FrameChange::Transition(record) => transition::write(connection, record)?,
            FrameChange::Replay(record) => replay::write(connection, record)?,
            FrameChange::Quarantine(record) => quarantine::write(connection, record)?,
        }
        Ok(())
    }

    /// Writes what was put aside.
    pub(crate) fn write(self, connection: &Connection) -> Result<(), Fault> {
        frame_task::write(connection, self.tasks)?;
        chunk::write(connection, self.chunks)?;
        session::write(connection, self.sessions)?;
        diagnostic::write(connection, &self.diagnostics)?;
        self.farm.map_or(Ok(()), |farm| farm::write(connection, farm))
    }
}
