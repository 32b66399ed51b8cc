//! The output of sessions on disk: where tasks write, where fragments are kept, and what is set apart.
//!
//! ```text
//! <root>/<session's outputDirectory>/
//!     chunks/<chunkId>/       one attempt of a task; no two attempts ever share a directory
//!     frames/                 all frames in order, as links to the files of the chunks that count
//!     meta/                   fragments that were accepted, session.json, completions.jsonl, manifest.json
//!     workers/<workerId>/     what a worker leaves that belongs to no task
//! <root>/quarantine/dropped_chunks/<chunkId>/
//! <root>/quarantine/worker/<workerId>/<sessionId>/
//! <root>/.parts/              files that are not whole yet
//! ```
//!
//! Workers write here, so nothing below the root is trusted: names are looked up in open directories, links are not
//! followed, nothing is deleted and nothing is written over but by an atomic rename of a whole file. All calls block.

mod assemble;
mod audit;
mod directory;
mod fragment;
mod part;
mod path;
mod quarantine;
mod session;

#[cfg(test)]
mod tests;

pub(crate) use audit::hex;
pub use path::{OutputError, PathFault};
pub use session::{AcceptedRange, CompletionsFile, SessionFiles};

use directory::Directory;
use part::Parts;
use quarantine::Entry;
use std::{
    hash::{BuildHasher, RandomState},
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// The directory that holds all sessions' output. Cheap to clone.
#[derive(Clone, Debug)]
pub struct OutputRoot(Arc<Inner>);

/// The files of one attempt, known by the chunk of ids that travels with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskFiles<'a> {
    /// The session's directory, relative to the output root.
    pub output: &'a str,
    /// The chunk.
    pub chunk: u64,
}

#[derive(Debug)]
struct Inner {
    root: Directory,
    parts: Parts,
    /// Held while an audit is written; an entry always has the same one.
    turns: [Mutex<()>; 64],
    hashes: RandomState,
}

impl OutputRoot {
    /// Opens the directory, which is made where it is missing.
    ///
    /// # Errors
    /// When it cannot be made, read or written.
    pub fn open(path: &Path) -> Result<Self, OutputError> {
        std::fs::create_dir_all(path)
            .map_err(|error| OutputError::disk("make the output root", path, error))?;
        let path = path.canonicalize().map_err(|error| OutputError::disk("find", path, error))?;
        let root = Directory::open(&path)?;
        let parts = Parts::open(&root)?;
        let turns = [const { Mutex::new(()) }; 64];
        Ok(Self(Arc::new(Inner { root, parts, turns, hashes: RandomState::new() })))
    }

    /// Its absolute path.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.0.root.path()
    }

    /// Checks that a session may have a directory (S26): relative, of plain names, none of them ours, and not through
    /// a link or a file that is there already.
    ///
    /// # Errors
    /// When it may not; the error says why.
    pub fn check_directory(&self, relative: &str) -> Result<(), OutputError> {
        let way = session_way(relative)?;
        if let Some(part) = way.iter().find(|part| part.eq_ignore_ascii_case(assemble::FRAMES)) {
            let fault = PathFault::Reserved((*part).to_owned());
            return Err(OutputError::Path { path: relative.to_owned(), fault });
        }
        match self.root().descend(&way) {
            Ok(_) => Ok(()),
            Err(error) => Err(fragment::as_fault(error, relative)),
        }
    }

    fn root(&self) -> &Directory {
        &self.0.root
    }

    fn parts(&self) -> &Parts {
        &self.0.parts
    }

    /// One of the directories that a session's consists of, if it is there.
    fn session_directory(&self, output: &str, name: &str) -> Result<Option<Directory>, OutputError> {
        let mut way = session_way(output)?;
        way.push(name);
        self.root().descend(&way)
    }

    /// One of the directories that a session's consists of, made where it is missing.
    fn make_session_directory(&self, output: &str, name: &str) -> Result<Directory, OutputError> {
        let mut way = session_way(output)?;
        way.push(name);
        self.root().make_all(&way)
    }

    /// Waits until nobody else writes the audit of an entry.
    fn turn(&self, entry: &Entry) -> MutexGuard<'_, ()> {
        let place = self.0.hashes.hash_one(entry.audit_home()) as usize % self.0.turns.len();
        self.0.turns[place].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way down to a session's directory.
pub(crate) fn session_way(output: &str) -> Result<Vec<&str>, OutputError> {
    path::session_parts(output).map_err(|fault| OutputError::Path { path: output.to_owned(), fault })
}
