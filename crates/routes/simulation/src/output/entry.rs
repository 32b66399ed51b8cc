//! Where the files of an entry of the quarantine lie.

use super::{
    directory::Directory,
    error::{OutputError, PathFault},
};
use muster_manifest::is_worker_id;
use muster_model::{EntryId, Name, SessionId};
use std::path::Path;

/// An entry of the quarantine, by its names below the output root.
///
/// The audit of a chunk lies among its files, that of a worker beside the directories of its sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    id: String,
    output: String,
    worker: String,
    /// The directories above it.
    home: Vec<String>,
    name: String,
    is_worker: bool,
}

impl Entry {
    /// The entry of a chunk.
    pub(super) fn chunk(chunk: u64, output: &str, worker: &str) -> Self {
        let id = EntryId::Chunk(chunk).to_string();
        Self::dropped(id, chunk.to_string(), output, worker)
    }

    /// What lay among a session's fragments and names no chunk.
    pub(super) fn nameless(output: &str) -> Self {
        Self::dropped("chunk-unknown".to_owned(), "unknown".to_owned(), output, "")
    }

    /// What a worker left in a session.
    pub(super) fn worker(worker: &Name, session: &SessionId, output: &str) -> Result<Self, OutputError> {
        let id = EntryId::Worker(worker.clone(), session.clone()).to_string();
        let worker = checked_worker(worker)?.to_owned();
        let home = vec![QUARANTINE.to_owned(), "worker".to_owned(), worker.clone()];
        Ok(Self {
            id,
            output: output.to_owned(),
            worker,
            home,
            name: session.as_str().to_owned(),
            is_worker: true,
        })
    }

    fn dropped(id: String, name: String, output: &str, worker: &str) -> Self {
        let home = vec![QUARANTINE.to_owned(), "dropped_chunks".to_owned()];
        Self { id, output: output.to_owned(), worker: worker.to_owned(), home, name, is_worker: false }
    }

    /// Its name on the wire.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The directory of its session.
    pub(super) fn output(&self) -> &str {
        &self.output
    }

    /// Whose files they are.
    pub(super) fn worker_name(&self) -> &str {
        &self.worker
    }

    /// The way down to the directory it lies in.
    pub(super) fn home(&self) -> Vec<&str> {
        self.home.iter().map(String::as_str).collect()
    }

    /// What it is called in that directory.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// The way down to its audit's directory.
    pub(super) fn audit_home(&self) -> Vec<&str> {
        let mut way = self.home();
        if !self.is_worker {
            way.push(&self.name);
        }
        way
    }

    /// The way from its audit to its files.
    pub(super) fn prefix(&self) -> &Path {
        Path::new(if self.is_worker { self.name.as_str() } else { "" })
    }

    /// The directory of its files, out of that of its audit.
    pub(super) fn contents(&self, audit_home: &Directory) -> Result<Option<Directory>, OutputError> {
        audit_home.child(if self.is_worker { self.name.as_str() } else { "." })
    }

    /// Whether a line that speaks of that entry belongs into the same audit.
    pub(super) fn shares_audit_with(&self, id: &str) -> bool {
        match (id.parse(), self.is_worker) {
            (Ok(EntryId::Worker(worker, _)), true) => worker.as_str() == self.worker,
            _ => id == self.id,
        }
    }
}

/// A worker's name that can be a directory: contract S allows no other, and neither does the disk (S1).
pub(super) fn checked_worker(worker: &Name) -> Result<&str, OutputError> {
    let text = worker.as_str();
    if is_worker_id(text) {
        return Ok(text);
    }
    let (path, fault) = (text.to_owned(), PathFault::Part(text.to_owned()));
    Err(OutputError::Path { path, fault })
}

/// Kept out of sessions' directories by the check of their paths.
const QUARANTINE: &str = "quarantine";
