//! Moves what nobody may use any more out of the way, and writes down what it was (S15).

use super::{
    OutputRoot, audit,
    directory::Seen,
    entry::{Entry, checked_worker},
    error::OutputError,
    fragment::{CHUNKS, META, fragment_file},
    moving::{Move, NAMES_TRIED_MAX, Place, rename_fresh, rename_new},
    walk::look_at,
};
use muster_model::{EntryId, QuarantineRecord};
use rustix::fs::FileType;
use std::ffi::OsStr;

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
        let Some(meta) = self.session_directory(entry.output(), META)? else { return Ok(()) };
        let Some(seen) = meta.look(file)? else { return Ok(()) };
        if seen.kind == FileType::Directory {
            return Err(meta.in_the_way(file, "a fragment"));
        }
        let target = self.root().make_all(&entry.home())?.make(entry.name())?;
        for number in 0..NAMES_TRIED_MAX {
            let name = late_name(file, number);
            let is_other = |there: Seen| there.identity != seen.identity;
            if target.look(&name)?.is_some_and(is_other) {
                continue;
            }
            if let Some(found) = look_at(&meta, file, seen, name.clone().into())? {
                audit::announce(self.parts(), &target, entry, &found)?;
            }
            if rename_new((&meta, file), (&target, OsStr::new(&name)))? != Move::Taken {
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
        let Some(source) = self.session_directory(entry.output(), above)? else { return Ok(()) };
        let Some(seen) = source.look(name)? else { return Ok(()) };
        let from: Place<'_> = (&source, OsStr::new(name));
        let home = self.root().make_all(&entry.home())?;
        let is_directory = seen.kind == FileType::Directory;
        if is_directory && rename_new(from, (&home, OsStr::new(entry.name())))? != Move::Taken {
            return Ok(());
        }
        let target = home.make(entry.name())?;
        let name_of = |number| match is_directory {
            true => format!("late_{}", number + 1),
            false => late_name(from.1, number),
        };
        rename_fresh(from, &target, name_of).map(|_| ())
    }
}

/// A file's own name, or where that is taken one that says it came late.
fn late_name(name: &OsStr, number: u32) -> String {
    let name = name.to_string_lossy();
    if number == 0 { name.into_owned() } else { format!("{name}.late_{number}") }
}
