//! Moves files that nobody may use any more out of the way, and writes down what they were (S15).

use super::{
    OutputError, OutputRoot, PathFault,
    audit::{self, look_at},
    directory::{Directory, Move, NAMES_TRIED_MAX, Seen},
    fragment::{CHUNKS, META, fragment_file},
};
use muster_manifest::is_worker_id;
use muster_model::{EntryId, Name, QuarantineRecord, SessionId};
use rustix::fs::FileType;
use std::{ffi::OsStr, path::Path};

impl OutputRoot {
    /// Moves the files of an entry to quarantine and audits them; says how many it holds now (S15).
    ///
    /// Done again, after a crash at any point or because more came later, it does what is left to do.
    ///
    /// # Errors
    /// When the disk refuses, or something foreign is in the way. Nothing is lost then.
    pub fn quarantine(&self, record: &QuarantineRecord) -> Result<u64, OutputError> {
        match &record.id {
            EntryId::Chunk(chunk) => {
                let worker = checked_worker(&record.worker)?;
                let entry = Entry::chunk(*chunk, &record.output, worker);
                let _turn = self.turn(&entry);
                self.set_aside(&entry, &[CHUNKS, &chunk.to_string()])?;
                self.take_in(&entry, &fragment_file(&record.worker, *chunk)?)?;
                self.audit(&entry)
            }
            EntryId::Worker(worker, session) => {
                let entry = Entry::worker(worker, session, &record.output)?;
                let _turn = self.turn(&entry);
                self.set_aside(&entry, &["workers", worker.as_str()])?;
                self.audit(&entry)
            }
        }
    }

    /// Moves a fragment that does not count to its chunk's entry, where it is written down before.
    pub(super) fn take_in(&self, entry: &Entry, file: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let file = file.as_ref();
        let Some(meta) = self.session_directory(&entry.output, META)? else { return Ok(()) };
        let Some(seen) = meta.look(file)? else { return Ok(()) };
        if seen.kind == FileType::Directory {
            return Err(meta.in_the_way(file, "a fragment"));
        }
        let target = self.root().make_all(&entry.home())?.make(&entry.name)?;
        for number in 0..NAMES_TRIED_MAX {
            let name = late_name(file, number);
            let is_other = |there: Seen| there.identity != seen.identity;
            if target.look(&name)?.is_some_and(is_other) {
                continue;
            }
            if let Some(found) = look_at(&meta, file, seen, name.clone().into())? {
                audit::announce(self.parts(), &target, entry, &found)?;
            }
            if meta.entry(file).rename_new(target.entry(&name))? != Move::Taken {
                return Ok(());
            }
        }
        Err(target.in_the_way(file, "a free name"))
    }

    /// Writes down what an entry holds.
    pub(super) fn audit(&self, entry: &Entry) -> Result<u64, OutputError> {
        match self.root().descend(&entry.audit_home())? {
            Some(directory) => audit::update(self.parts(), &directory, entry),
            None => Ok(0),
        }
    }

    /// Moves a directory of a session to quarantine as a whole: whoever writes by its path finds nothing there.
    fn set_aside(&self, entry: &Entry, [above, name]: &[&str; 2]) -> Result<(), OutputError> {
        let Some(source) = self.session_directory(&entry.output, above)? else { return Ok(()) };
        let Some(seen) = source.look(name)? else { return Ok(()) };
        let from = source.entry(name);
        let home = self.root().make_all(&entry.home())?;
        let is_directory = seen.kind == FileType::Directory;
        if is_directory && from.rename_new(home.entry(&entry.name))? != Move::Taken {
            return Ok(());
        }
        let target = home.make(&entry.name)?;
        let name_of = |number| match is_directory {
            true => format!("late_{}", number + 1),
            false => late_name(from.name, number),
        };
        from.rename_fresh(&target, name_of).map(|_| ())
    }
}

/// A file's own name, or where that is taken one that says it came late.
fn late_name(name: &OsStr, number: u32) -> String {
    let name = name.to_string_lossy();
    if number == 0 { name.into_owned() } else { format!("{name}.late_{number}") }
}

/// An entry of the quarantine, by its names below the output root.
///
/// The audit of a chunk lies among its files, that of a worker beside the directories of its sessions.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Its name on the wire.
    pub(super) id: String,
    /// The directory of its session.
    pub(super) output: String,
    /// The worker whose files they are.
    pub(super) worker: String,
    /// The directories above it.
    home: Vec<String>,
    /// Its name in that directory.
    name: String,
    is_worker: bool,
}

impl Entry {
    /// The entry of a chunk.
    pub(super) fn chunk(chunk: u64, output: &str, worker: &str) -> Self {
        let id = EntryId::Chunk(chunk).to_string();
        Self::dropped(id, chunk.to_string(), output, worker)
    }

    /// The entry of files among a session's fragments that name no chunk.
    pub(super) fn nameless(output: &str) -> Self {
        Self::dropped("chunk-unknown".to_owned(), "unknown".to_owned(), output, "")
    }

    /// The entry of files that a worker left in a session.
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

    /// The way down to the directory it lies in.
    fn home(&self) -> Vec<&str> {
        self.home.iter().map(String::as_str).collect()
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

    /// Returns true if a line about that entry belongs in the same audit.
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
