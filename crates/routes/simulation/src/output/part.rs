//! Files that are not shown before they are whole.
//!
//! They lie in `.parts` below the output root, called by a number that no other process draws: two servers that share
//! an output root, one of which just lost its term, never write into one file.

use super::{
    OutputError,
    directory::{Directory, Move, step, sync},
};
use std::{
    fs::File,
    io::Write,
    sync::atomic::{AtomicU64, Ordering},
};

/// The directory of unfinished files.
#[derive(Debug)]
pub(super) struct Parts {
    directory: Directory,
    tag: u64,
    count: AtomicU64,
}

/// A file that nobody was shown yet. Dropped, it is gone.
#[derive(Debug)]
pub(super) struct Part<'a> {
    parts: &'a Parts,
    name: String,
    file: File,
    is_shown: bool,
}

impl Parts {
    /// Opens the place, and removes what a crash left there long ago.
    pub(super) fn open(root: &Directory) -> Result<Self, OutputError> {
        let parts =
            Self { directory: root.make(PLACE)?, tag: rand::random::<u64>(), count: AtomicU64::new(0) };
        parts.sweep()?;
        Ok(parts)
    }

    /// Begins a file.
    pub(super) fn begin(&self) -> Result<Part<'_>, OutputError> {
        let name = format!("{:016x}_{}", self.tag, self.count.fetch_add(1, Ordering::Relaxed));
        let file = self.directory.new_file(&name)?;
        Ok(Part { parts: self, name, file, is_shown: false })
    }

    /// Removes files a day older than one made now, by the one clock that knows: the file system's. A younger one may
    /// be another server's that is still at it.
    fn sweep(&self) -> Result<(), OutputError> {
        let fresh = self.begin()?;
        let now = self.directory.look(&fresh.name)?.map_or(0, |seen| seen.changed_at);
        for name in self.directory.names()? {
            let seen = self.directory.look(&name)?;
            if seen.is_some_and(|seen| now.saturating_sub(seen.changed_at) > LEFT_BEHIND_AFTER_S) {
                self.directory.remove(&name)?;
            }
        }
        Ok(())
    }
}

impl Part<'_> {
    /// Adds to it.
    pub(super) fn write(&mut self, bytes: &[u8]) -> Result<(), OutputError> {
        step()
            .map_err(std::io::Error::from)
            .and_then(|()| self.file.write_all(bytes))
            .map_err(|error| OutputError::disk("write", self.parts.directory.path_of(&self.name), error))
    }

    /// Shows it under a name, in place of what had that name.
    pub(super) fn replace(mut self, directory: &Directory, name: &str) -> Result<(), OutputError> {
        self.sync()?;
        self.parts.directory.entry(&self.name).rename(directory.entry(name)).map_err(
            |error| match error {
                rustix::io::Errno::ISDIR => directory.in_the_way(name, "a file"),
                error => OutputError::disk("write", directory.path_of(name), error),
            },
        )?;
        self.is_shown = true;
        directory.sync()
    }

    /// Shows it under a name that must be free.
    pub(super) fn show(mut self, directory: &Directory, name: &str) -> Result<(), OutputError> {
        self.sync()?;
        match self.parts.directory.entry(&self.name).rename_new(directory.entry(name))? {
            Move::Done => {
                self.is_shown = true;
                Ok(())
            }
            Move::Taken | Move::Gone => Err(directory.in_the_way(name, "a new file")),
        }
    }

    fn sync(&self) -> Result<(), OutputError> {
        sync(&self.file).map_err(|error| {
            OutputError::disk("make durable", self.parts.directory.path_of(&self.name), error)
        })
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        if !self.is_shown {
            // A later sweep removes a part that cannot be removed now.
            let _ = self.parts.directory.remove(&self.name);
        }
    }
}

const PLACE: &str = ".parts";
const LEFT_BEHIND_AFTER_S: i64 = 86_400;
