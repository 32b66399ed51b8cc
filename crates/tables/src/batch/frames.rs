//! The changes of sessions in a batch.

use crate::{
    fault::Fault,
    rows::{chunk, diagnostic, farm, frame_task, quarantine, renderer, replay, session, transition},
    sql::Sink,
};
use muster_model::{ChunkRecord, DiagnosticRecord, FarmRecord, FrameChange, FrameTaskRecord, SessionRecord};

/// The changes by table. No row refers to another, so the order between tables is free.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    tasks: Vec<&'a FrameTaskRecord>,
    chunks: Vec<&'a ChunkRecord>,
    sessions: Vec<&'a SessionRecord>,
    diagnostics: Vec<&'a DiagnosticRecord>,
    farm: Option<&'a FarmRecord>,
}

impl<'a> Sorted<'a> {
    /// Puts a change with its like; writes it at once where there are never many.
    pub(super) fn take(&mut self, sink: &mut dyn Sink, change: &'a FrameChange) -> Result<(), Fault> {
        match change {
            FrameChange::Task(record) => self.tasks.push(record),
            FrameChange::Chunk(record) => self.chunks.push(record),
            FrameChange::Session(record) => self.sessions.push(record),
            FrameChange::Diagnostic(record) => self.diagnostics.push(record),
            FrameChange::Farm(record) => self.farm = Some(record),
            FrameChange::Renderer(record) => renderer::write(sink, record)?,
            FrameChange::RendererGone(id) => renderer::delete(sink, id)?,
            FrameChange::Transition(record) => transition::write(sink, record)?,
            FrameChange::Replay(record) => replay::write(sink, record)?,
            FrameChange::Quarantine(record) => quarantine::write(sink, record)?,
        }
        Ok(())
    }

    /// Writes what was put aside.
    pub(super) fn write(self, sink: &mut dyn Sink) -> Result<(), Fault> {
        frame_task::write(sink, self.tasks)?;
        chunk::write(sink, self.chunks)?;
        session::write(sink, self.sessions)?;
        diagnostic::write(sink, &self.diagnostics)?;
        self.farm.map_or(Ok(()), |farm| farm::write(sink, farm))
    }
}
