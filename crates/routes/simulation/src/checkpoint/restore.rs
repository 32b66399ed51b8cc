//! Reads a checkpoint back, strictly, and writes what it says into an empty store, all of it or nothing (S20).
//!
//! Each attempt has a directory that bears the number of its chunk. Where there are numbers that the checkpoint does not
//! know of, somebody may still use their ids, and they must not be granted again (S13).

mod check;
mod read;

#[cfg(test)]
mod tests;

use muster_contract_simulation::limit;
use muster_http::{Fields, Problem};
use muster_manifest::FragmentName;
use muster_model::{
    Change, ChunkRecord, ChunkState, FarmRecord, FrameChange, FrameTaskStatus, QuarantineRecord,
    RendererRecord, ReplayRecord, SessionRecord, Timestamp,
};
use muster_store::{Batch, Candidate, Cursor, Reader, Store, StoreError, Term};
use read::Part;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::{
    ffi::OsString,
    fs, io,
    path::{Path, PathBuf},
};

/// The reason why a document cannot be restored.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// More than anybody would write.
    #[error("it has more than {} MiB; no checkpoint is that large", BYTES_MAX >> 20)]
    TooLarge,
    /// Not JSON at all, or cut off.
    #[error("it is no JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// Something in it was changed after it was written.
    #[error(
        "its sha256 is {said}, but that of what it holds is {found}: it was changed or damaged; take another one"
    )]
    Hash {
        /// In the document.
        said: String,
        /// Of the document.
        found: String,
    },
    /// A field has a value that it cannot have, or that does not fit the others.
    #[error("{0}")]
    Field(String),
}

impl From<Problem> for ReadError {
    fn from(problem: Problem) -> Self {
        Self::Field(problem.detail().to_owned())
    }
}

impl Checkpoint {
    /// Reads a document as `GET /api/v1/checkpoint` answers it. However it is spaced, its hash must be that of the
    /// canonical form of what it holds.
    ///
    /// # Errors
    /// When it is damaged, or a field makes no sense by itself or beside the others; the error names it.
    pub fn read(document: &[u8]) -> Result<Self, ReadError> {
        if document.len() > BYTES_MAX {
            return Err(ReadError::TooLarge);
        }
        let document: Value = serde_json::from_slice(document)?;
        let fields = Fields::of(&document)?;
        let checkpoint = fields.required("checkpoint")?;
        let said = fields.text("sha256", 64)?;
        let found = crate::output::hex(&Sha256::digest(checkpoint.value.to_string().as_bytes()));
        if said != found {
            return Err(ReadError::Hash { said: said.to_owned(), found });
        }
        let distributed = checkpoint.fields()?.required("distributed")?.fields()?;
        Ok(Self::of(&distributed)?)
    }
}

/// A checkpoint that can be restored.
pub struct Checkpoint {
    epoch: u64,
    taken_at: Timestamp,
    farm: FarmRecord,
    chunk_size: u64,
    workers: Vec<RendererRecord>,
    /// Oldest first.
    sessions: Vec<SessionRecord>,
    parts: Vec<Part>,
    chunks: Vec<ChunkRecord>,
    replays: Vec<ReplayRecord>,
    quarantine: Vec<QuarantineRecord>,
    /// As the document lists them, for comparing.
    retired: Vec<u64>,
    fragments: Vec<String>,
}

impl Checkpoint {
    /// Reads `checkpoint.distributed`, each field by itself and then all of them beside each other.
    fn of(fields: &Fields<'_>) -> Result<Self, Problem> {
        let allocator = fields.required("globalIdAllocator")?.fields()?;
        fields.required("metricsSnapshot")?.fields()?;
        let farm = FarmRecord {
            paused: fields.boolean("paused")?,
            next_chunk: read::whole(&allocator, "nextChunkId", 1..=i64::MAX)?,
            next_id: read::whole(&allocator, "nextRangeStart", 1..=i64::MAX)?,
        };
        let sessions = fields.items("sessions", usize::MAX)?;
        let sessions = sessions.iter().zip(1..).map(|(item, seq)| read::session_row(item, seq));
        let number = |item: &muster_http::Item<'_>| item.integer_in(1..=i64::MAX).map(i64::unsigned_abs);
        let checkpoint = Self {
            epoch: read::whole(fields, "epoch", 0..=EPOCH_MAX)?,
            taken_at: read::moment(fields, "takenAt")?,
            farm,
            chunk_size: read::whole(&allocator, "chunkSize", 1..=i64::MAX)?,
            workers: read::list(fields, "workers", read::worker_row)?,
            sessions: sessions.collect::<Result<_, _>>()?,
            parts: read::list(fields, "tasks", read::part_row)?,
            chunks: read::list(fields, "chunks", read::chunk_row)?,
            replays: read::list(fields, "replays", read::replay_row)?,
            quarantine: read::list(fields, "quarantine", read::entry_row)?,
            retired: read::list(&allocator, "retiredChunks", number)?,
            fragments: read::list(fields, "manifestFragments", |item| item.text(4096).map(str::to_owned))?,
        };
        check::check(&checkpoint)?;
        Ok(checkpoint)
    }

    /// Lets epochs go on above all that were given since it was taken: workers may have seen those, and take no task of an
    /// older one (S18). Terms begin far less often than once in a second, so the seconds since 1970 are above every one.
    #[must_use]
    pub fn after(mut self, now: Timestamp) -> Self {
        let seconds = u64::try_from(now.0.div_euclid(1000)).unwrap_or_default();
        self.epoch = self.epoch.max(seconds);
        self
    }

    /// When it was taken.
    #[must_use]
    pub fn taken_at(&self) -> Timestamp {
        self.taken_at
    }
}

/// The problem of a row's field; `detail` goes on after its path.
fn refuse(list: &str, index: usize, key: &str, detail: &str) -> Problem {
    let dot = if key.is_empty() { "" } else { "." };
    Problem::unprocessable(format!("checkpoint.distributed.{list}[{index}]{dot}{key}"), detail)
}

/// The reason why a checkpoint was not restored. Nothing was written then.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// Restored rows would be mixed with those that are there.
    #[error(
        "the store already holds {0}; restore into an empty one: name another --data directory or database"
    )]
    NotEmpty(&'static str),
    /// Others would begin to serve from what is not whole yet.
    #[error("a server just took the lead of this store; stop all servers on it first")]
    Overtaken,
    /// The output root cannot be searched for ids in use.
    #[error("cannot look for ids in use below {}: {error}", path.display())]
    Output {
        /// The output root.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The numbers of restored rows.
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
    /// The next ids.
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
        // Check before any write: a rejected restore changes nothing, not even the epoch.
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

/// Returns the next ids to grant: those of the checkpoint, or beyond all numbers that left a trace.
///
/// # Errors
/// When the disk cannot be read, or no ids would be left.
fn beyond_traces(farm: FarmRecord, chunk_size: u64, root: &Path) -> io::Result<FarmRecord> {
    let mut newest = None;
    for_each_number(root, &mut |number| {
        if number >= farm.next_chunk && number - farm.next_chunk <= LEAP_MAX {
            newest = newest.max(Some(number));
        }
    })?;
    let Some(newest) = newest else { return Ok(farm) };
    let skipped = newest - farm.next_chunk + 1 + SPARE;
    let next_id = leap(farm.next_id, chunk_size, skipped);
    let next_id = next_id.ok_or_else(|| io::Error::other("there are no ids left beyond those in use"))?;
    Ok(FarmRecord { next_chunk: farm.next_chunk + skipped, next_id, ..farm })
}

/// The first id beyond so many chunks, each as large as one can be; at a multiple of their common size (S12).
fn leap(from: u64, chunk_size: u64, chunks: u64) -> Option<u64> {
    let largest = chunk_size.checked_add(limit::REQUESTED_IDS.unsigned_abs())?;
    let beyond = from.checked_add(chunks.checked_mul(largest)?)?;
    beyond.checked_next_multiple_of(chunk_size).filter(|id| i64::try_from(*id).is_ok())
}

/// Calls with each number of a chunk below the output root. No link is followed: workers write there.
fn for_each_number(root: &Path, found: &mut dyn FnMut(u64)) -> io::Result<()> {
    for name in names(&root.join("quarantine/dropped_chunks"))? {
        name.to_str().and_then(|name| name.parse().ok()).into_iter().for_each(&mut *found);
    }
    let mut waiting: Vec<PathBuf> = vec![root.to_owned()];
    while let Some(directory) = waiting.pop() {
        for name in names(&directory)? {
            let path = directory.join(&name);
            match name.to_str() {
                Some("chunks") => numbers(&path, |name| name.parse().ok(), found)?,
                Some("meta") => numbers(&path, chunk_of_fragment, found)?,
                Some("workers" | "quarantine") => {}
                _ if name.as_encoded_bytes().starts_with(b".") => {}
                _ if path.symlink_metadata().is_ok_and(|data| data.is_dir()) => waiting.push(path),
                _ => {}
            }
        }
    }
    Ok(())
}

fn numbers(
    directory: &Path,
    number: impl Fn(&str) -> Option<u64>,
    found: &mut dyn FnMut(u64),
) -> io::Result<()> {
    let names = names(directory)?;
    names.iter().filter_map(|name| name.to_str().and_then(&number)).for_each(found);
    Ok(())
}

fn chunk_of_fragment(name: &str) -> Option<u64> {
    FragmentName::parse(name)?.ok()?.chunk()
}

/// The names in a directory; none where it is none, or is not for us.
fn names(directory: &Path) -> io::Result<Vec<OsString>> {
    if !directory.symlink_metadata().is_ok_and(|data| data.is_dir()) {
        return Ok(Vec::new());
    }
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    entries.map(|entry| Ok(entry?.file_name())).collect()
}

/// The largest document that is read: a hundred times what a busy farm's takes.
pub const BYTES_MAX: usize = 1 << 30;

/// Beyond it, numbers in JSON are not exact everywhere.
const EPOCH_MAX: i64 = 1 << 52;

/// An address where requests find nobody, as long as this takes.
const NOBODY: &str = "http://restoring.invalid";

/// Grants that leave no trace: further ids of a task have no directory, and one may not be made yet.
const SPARE: u64 = 1000;

/// The most that is granted between two checkpoints; a larger number was planted.
const LEAP_MAX: u64 = 10_000_000;

#[cfg(test)]
mod trace_tests {
    use super::*;

    fn after(paths: &[&str]) -> FarmRecord {
        let root = tempfile::tempdir().unwrap();
        for path in paths {
            fs::create_dir_all(root.path().join(path)).unwrap();
        }
        let farm = FarmRecord { paused: false, next_chunk: 5, next_id: 5000 };
        beyond_traces(farm, 1000, root.path()).unwrap()
    }

    /// S12, S20: where nothing was granted since, ids go on where they were.
    #[test]
    fn ids_go_on_where_they_were() {
        let same = FarmRecord { paused: false, next_chunk: 5, next_id: 5000 };
        assert_eq!(after(&[]), same);
        assert_eq!(after(&["s/chunks/1", "s/chunks/4", "quarantine/dropped_chunks/3"]), same);
        assert_eq!(after(&["s/chunks/9223372036854775807", "s/chunks/x", "s/workers/7", "7"]), same);
        assert_eq!(beyond_traces(same, 1000, Path::new("/nowhere")).unwrap(), same);
    }

    /// S13, S20: ids that were granted after the checkpoint are not granted again.
    #[test]
    fn ids_with_a_trace_are_left_out() {
        for path in [
            "s/chunks/6",
            "deep/er/s/chunks/6",
            "quarantine/dropped_chunks/6",
            "s/meta/manifest_fragment_W1_6.json",
        ] {
            let farm = after(&["s/chunks/4", path]);
            assert_eq!(farm.next_chunk, 1007, "{path}");
            // The ids of 1002 chunks, though each were as large as a worker may ask for.
            assert!(farm.next_id >= 5000 + 1002 * (1 << 32) && farm.next_id.is_multiple_of(1000), "{farm:?}");
        }
    }

    /// S13: there is an end to ids, also here.
    #[test]
    fn there_is_an_end_to_ids() {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir_all(root.path().join("s/chunks/6")).unwrap();
        let last = FarmRecord { paused: false, next_chunk: 5, next_id: i64::MAX.unsigned_abs() - 9 };
        assert!(beyond_traces(last, 1000, root.path()).is_err());
    }

    #[test]
    fn a_link_is_not_followed() {
        let (root, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(other.path().join("chunks/6")).unwrap();
        std::os::unix::fs::symlink(other.path(), root.path().join("s")).unwrap();
        let farm = FarmRecord { paused: false, next_chunk: 5, next_id: 5000 };
        assert_eq!(beyond_traces(farm, 1000, root.path()).unwrap(), farm);
    }
}
