//! Moves what nobody may use any more out of the way, and writes down what it was (S15).

use super::{
    OutputRoot, audit,
    directory::Directory,
    entry::{Entry, checked_worker},
    error::OutputError,
    fragment::{CHUNKS, META, fragment_file},
    moving::{Move, Place, rename_fresh, rename_new},
};
use muster_model::{EntryId, QuarantineRecord};
use rustix::fs::FileType;
use std::{ffi::OsStr, path::PathBuf};

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

    /// Where an entry's files lie, absolute.
    #[must_use]
    pub fn entry_path(&self, id: &EntryId) -> PathBuf {
        let quarantine = self.path().join("quarantine");
        match id {
            EntryId::Chunk(chunk) => quarantine.join("dropped_chunks").join(chunk.to_string()),
            EntryId::Worker(worker, session) => {
                quarantine.join("worker").join(worker.as_str()).join(session.as_str())
            }
        }
    }

    /// Moves a fragment that does not count to its chunk's entry.
    pub(super) fn take_in(&self, entry: &Entry, file: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let Some(meta) = self.session_directory(entry.output(), META)? else { return Ok(()) };
        let file = file.as_ref();
        if meta.look(file)?.is_none() {
            return Ok(());
        }
        let target = self.root().make_all(&entry.home())?.make(entry.name())?;
        rename_late((&meta, file), &target)
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
        let Some(source) = self.session_directory(entry.output(), above)? else { return Ok(()) };
        let Some(seen) = source.look(name)? else { return Ok(()) };
        let from: Place<'_> = (&source, OsStr::new(name));
        let home = self.root().make_all(&entry.home())?;
        let is_directory = seen.kind == FileType::Directory;
        if is_directory && rename_new(from, (&home, OsStr::new(entry.name())))? != Move::Taken {
            return Ok(());
        }
        let target = home.make(entry.name())?;
        if is_directory {
            rename_fresh(from, &target, |number| format!("late_{}", number + 1)).map(|_| ())
        } else {
            rename_late(from, &target)
        }
    }
}

/// Moves a file by its own name, or where that is taken by one that says it came late.
fn rename_late(from: Place<'_>, to: &Directory) -> Result<(), OutputError> {
    let name = from.1.to_string_lossy().into_owned();
    let name_of = |number| if number == 0 { name.clone() } else { format!("{name}.late_{number}") };
    rename_fresh(from, to, name_of).map(|_| ())
}
