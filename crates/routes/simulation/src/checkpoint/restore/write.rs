//! Writes a checkpoint into an empty store, all of it or nothing.

use super::{content::Checkpoint, trace::beyond_traces};
use muster_model::{Change, ChunkState, FarmRecord, FrameChange, FrameTaskStatus};
use muster_store::{Batch, Candidate, Cursor, Reader, Store, StoreError, Term};
use std::{io, path::PathBuf};

/// Why a checkpoint was not restored. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// What is there would be mixed with what comes.
    #[error(
        "the store already holds {0}; restore into an empty one: name another --data directory or database"
    )]
    NotEmpty(&'static str),
    /// Others would begin to serve from what is not whole yet.
    #[error("a server just took the lead of this store; stop all servers on it first")]
    Overtaken,
    /// Whether its ids are still free cannot be told.
    #[error("cannot look for ids in use below {}: {error}", path.display())]
    Output {
        /// The output root.
        path: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The term that wrote it; the server's will be later.
    pub epoch: u64,
    /// Sessions, open or ended.
    pub sessions: usize,
    /// Those of them that go on.
    pub open_sessions: usize,
    /// Ranges that were cut.
    pub tasks: usize,
    /// Those of them that are completed.
    pub completed_tasks: usize,
    /// Grants of ids.
    pub chunks: usize,
    /// Those of them that are retired.
    pub retired_chunks: usize,
    /// Ranges that were given out anew.
    pub replays: usize,
    /// Workers.
    pub workers: usize,
    /// Entries of the quarantine.
    pub quarantine: usize,
    /// Where ids go on.
    pub farm: FarmRecord,
    /// Chunks left out, because the disk tells that ids were granted after the checkpoint was taken.
    pub skipped_chunks: u64,
}

impl Checkpoint {
    /// Writes everything into a store that knows nothing of sessions yet; `output_root` is where the sessions wrote.
    ///
    /// # Errors
    /// When a server leads, the store is not empty, or it or the disk fails. Then nothing of it is written.
    pub fn restore(self, store: &dyn Store, output_root: &std::path::Path) -> Result<Restored, RestoreError> {
        let farm = beyond_traces(self.farm, self.chunk_size, output_root);
        let farm = farm.map_err(|error| RestoreError::Output { path: output_root.to_owned(), error })?;
        // Whoever is refused alters nothing, not even the epoch.
        check_empty(&*store.reader())?;
        let term = term_beyond(store, self.epoch)?;
        let epoch = term.epoch;
        let restored = self.write(store, term, farm);
        if let Some(election) = store.election() {
            // Should it fail, the next server waits for a lease: what was written stays.
            let _ = election.resign(epoch);
        }
        restored
    }

    /// Looks once more whether the store is empty: since the term began nobody else can write.
    fn write(self, store: &dyn Store, mut term: Term, farm: FarmRecord) -> Result<Restored, RestoreError> {
        check_empty(&*store.reader())?;
        let restored = self.summary(farm, term.epoch);
        let changes = self.into_changes(farm).into_iter().map(Change::Frames).collect();
        term.writer.commit(&Batch { changes, ..Batch::default() })?;
        Ok(restored)
    }

    fn summary(&self, farm: FarmRecord, epoch: u64) -> Restored {
        let cut = || self.parts.iter().filter_map(|part| part.cut.as_ref());
        Restored {
            epoch,
            sessions: self.sessions.len(),
            open_sessions: self.sessions.iter().filter(|session| session.open).count(),
            tasks: cut().count(),
            completed_tasks: cut().filter(|task| task.status == FrameTaskStatus::Completed).count(),
            chunks: self.chunks.len(),
            retired_chunks: self.chunks.iter().filter(|chunk| chunk.state == ChunkState::Retired).count(),
            replays: self.replays.len(),
            workers: self.workers.len(),
            quarantine: self.quarantine.len(),
            skipped_chunks: farm.next_chunk - self.farm.next_chunk,
            farm,
        }
    }

    fn into_changes(self, farm: FarmRecord) -> Vec<FrameChange> {
        let mut changes = vec![FrameChange::Farm(farm)];
        changes.extend(self.workers.into_iter().map(|worker| FrameChange::Renderer(worker.into())));
        changes.extend(self.sessions.into_iter().map(|session| FrameChange::Session(session.into())));
        let cut = self.parts.into_iter().filter_map(|part| part.cut);
        changes.extend(cut.map(|task| FrameChange::Task(task.into())));
        changes.extend(self.chunks.into_iter().map(FrameChange::Chunk));
        changes.extend(self.replays.into_iter().map(FrameChange::Replay));
        changes.extend(self.quarantine.into_iter().map(|entry| FrameChange::Quarantine(entry.into())));
        changes
    }
}

fn check_empty(reader: &dyn Reader) -> Result<(), RestoreError> {
    let first = Cursor { after: None, limit: 1 };
    let found = [
        ("sessions", !reader.sessions(None, &first)?.items.is_empty()),
        ("workers of sessions", !reader.renderers(&first)?.items.is_empty()),
        ("files in quarantine", !reader.quarantine(&first)?.items.is_empty()),
        ("granted ids, or a pause of all workers", reader.farm()? != FarmRecord::default()),
    ];
    match found.into_iter().find(|(_, found)| *found) {
        Some((what, _)) => Err(RestoreError::NotEmpty(what)),
        None => Ok(()),
    }
}

/// Begins a term whose number is above the one the checkpoint was taken in: workers that lived through it take no task of
/// an older one (S18). Takes it from nobody who leads.
fn term_beyond(store: &dyn Store, epoch: u64) -> Result<Term, RestoreError> {
    let Some(election) = store.election() else {
        return Ok(store.begin_term_beyond(epoch)?);
    };
    let seen = election.look()?;
    if let Some(leader) = seen.leader.as_ref().filter(|_| seen.is_led()) {
        return Err(StoreError::Led(leader.address.clone()).into());
    }
    let us = Candidate { node: "checkpoint-restore".to_owned(), address: NOBODY.to_owned() };
    election.take(&seen, &us, epoch)?.ok_or(RestoreError::Overtaken)
}

/// Where requests find nobody, as long as this takes.
const NOBODY: &str = "http://restoring.invalid";
