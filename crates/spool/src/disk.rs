//! The disk of a log: the operations that the log needs, and a directory that has them.

use crate::{SpoolError, error::Task};
use rustix::fs::{FallocateFlags, fallocate};
use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

/// A flat directory of files, honest about what is durable when.
///
/// Nothing is durable before its sync returned: bytes, lengths and reservations of a file before
/// [`sync_data`](Disk::sync_data), names before [`sync_dir`](Disk::sync_dir). Until then a crash may keep any
/// part of them.
pub trait Disk {
    /// An open file.
    type File;

    /// Gives the names of all files, in any order.
    fn list(&self) -> io::Result<Vec<String>>;

    /// Makes an empty file, in place of one that had the name.
    fn create(&self, name: &str) -> io::Result<Self::File>;

    /// Opens a file for writing.
    fn open(&self, name: &str) -> io::Result<Self::File>;

    /// Reads a whole file.
    fn read(&self, name: &str) -> io::Result<Vec<u8>>;

    /// Reads so many bytes from there; fewer are an error.
    fn read_at(&self, name: &str, offset: u64, length: usize) -> io::Result<Vec<u8>>;

    /// Writes all bytes there; on an error any part of them may have been written.
    fn write_at(&self, file: &Self::File, offset: u64, bytes: &[u8]) -> io::Result<()>;

    /// Takes room for the file up to a length it does not have yet, filled with zeros, so that writing there
    /// cannot find the disk full. A disk that cannot says [`io::ErrorKind::Unsupported`].
    fn allocate(&self, file: &Self::File, length: u64) -> io::Result<()>;

    /// Shortens a file; durable when it returns.
    fn truncate(&self, file: &Self::File, length: u64) -> io::Result<()>;

    /// Makes the bytes and the length of a file durable.
    ///
    /// After an error nobody knows what is durable, and a second call may say yes though bytes were dropped.
    fn sync_data(&self, file: &Self::File) -> io::Result<()>;

    /// Removes a file.
    fn remove(&self, name: &str) -> io::Result<()>;

    /// Makes names that were created or removed durable.
    fn sync_dir(&self) -> io::Result<()>;
}

/// One directory on the real disk, locked for as long as this lives.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    /// None for a directory that is only read.
    lock: Option<File>,
}

impl Directory {
    /// Opens a directory, creates it (0700) if it is not there, and locks it against a second agent.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SpoolError> {
        let path = path.as_ref().to_owned();
        let shown = path.display().to_string();
        create(&path).map_err(Task::on(&shown).refused("create"))?;
        let lock = file_options().create(true).truncate(false).open(path.join(LOCK));
        let lock = lock.map_err(Task::on(&shown).refused("lock"))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path, lock: Some(lock) }),
            Err(TryLockError::WouldBlock) => Err(SpoolError::InUse { directory: shown }),
            Err(TryLockError::Error(source)) => Err(Task::on(&shown).refused("lock")(source)),
        }
    }

    /// Opens a directory for looking at, beside an agent that may be writing to it. Writing is refused.
    pub fn for_reading(path: impl AsRef<Path>) -> Self {
        Self { path: path.as_ref().to_owned(), lock: None }
    }

    fn writable(&self, name: &str) -> io::Result<PathBuf> {
        match self.lock {
            Some(_) => Ok(self.path.join(name)),
            None => Err(io::Error::new(ErrorKind::PermissionDenied, "opened for reading")),
        }
    }
}

impl Disk for Directory {
    type File = File;

    fn list(&self) -> io::Result<Vec<String>> {
        let name = |entry: io::Result<fs::DirEntry>| entry.map(|entry| entry.file_name().into_string().ok());
        fs::read_dir(&self.path)?.filter_map(|entry| name(entry).transpose()).collect()
    }

    fn create(&self, name: &str) -> io::Result<File> {
        let path = self.writable(name)?;
        // A new file, not the old one emptied: what a failed sync left behind in that one is gone with it.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => file_options().create_new(true).open(path),
        }
    }

    fn open(&self, name: &str) -> io::Result<File> {
        file_options().open(self.writable(name)?)
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.path.join(name))
    }

    fn read_at(&self, name: &str, offset: u64, length: usize) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; length];
        File::open(self.path.join(name))?.read_exact_at(&mut bytes, offset)?;
        Ok(bytes)
    }

    fn write_at(&self, file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
        file.write_all_at(bytes, offset)
    }

    fn allocate(&self, file: &File, length: u64) -> io::Result<()> {
        let allocated = fallocate(file, FallocateFlags::empty(), 0, length);
        allocated.map_err(|error| match error {
            rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS => ErrorKind::Unsupported.into(),
            error => error.into(),
        })
    }

    fn truncate(&self, file: &File, length: u64) -> io::Result<()> {
        file.set_len(length)?;
        file.sync_all()
    }

    fn sync_data(&self, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.writable(name)?)
    }

    fn sync_dir(&self) -> io::Result<()> {
        sync_dir(&self.path)
    }
}

/// Creates a directory with what leads to it, each durable in the one above.
fn create(path: &Path) -> io::Result<()> {
    let missing: Vec<&Path> = path.ancestors().take_while(|above| !above.exists()).collect();
    DirBuilder::new().recursive(true).mode(0o700).create(path)?;
    let above = |path: &Path| {
        path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new(".")).to_owned()
    };
    missing.iter().rev().filter(|path| **path != Path::new("")).try_for_each(|path| sync_dir(&above(path)))
}

fn sync_dir(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn file_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    options
}

const LOCK: &str = "lock";
