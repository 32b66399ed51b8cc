//! The operations that change a disk, one by one, so that a test can end the world before any of them.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};

/// One change to the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A file is made, empty.
    Create(PathBuf),
    /// A file is filled.
    Write(PathBuf),
    /// The content of a file is made durable.
    SyncFile(PathBuf),
    /// A file gets another name, or another directory.
    Rename(PathBuf, PathBuf),
    /// The names in a directory are made durable.
    SyncDirectory(PathBuf),
    /// A file or an empty directory is removed.
    Remove(PathBuf),
    /// A directory is made.
    MakeDirectory(PathBuf),
}

/// Is asked before every operation; an error is what the operation then ends with.
///
/// A test counts operations with it and lets the process die, as far as the disk can tell, before any one of them.
pub trait Fuse: Send + Sync {
    /// Says whether the operation may be done.
    fn before(&self, operation: &Operation) -> io::Result<()>;
}

/// The disk, changed through here only.
#[derive(Clone, Default)]
pub(crate) struct Disk {
    fuse: Option<Arc<dyn Fuse>>,
}

impl Disk {
    pub(crate) fn with_fuse(fuse: Arc<dyn Fuse>) -> Self {
        Self { fuse: Some(fuse) }
    }

    /// Makes a file that must not exist yet, fills it and makes its content durable.
    pub(crate) fn write_new(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.burn(|| Operation::Create(path.into()))?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(FILE_MODE).open(path)?;
        self.burn(|| Operation::Write(path.into()))?;
        file.write_all(bytes)?;
        self.burn(|| Operation::SyncFile(path.into()))?;
        file.sync_all()
    }

    /// Gives a file another name, in place of whatever has that name, and makes both directories durable.
    pub(crate) fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.burn(|| Operation::Rename(from.into(), to.into()))?;
        fs::rename(from, to)?;
        self.sync_parents(from, to)
    }

    /// Gives a file another name; says no, and changes nothing, where that name is taken.
    pub(crate) fn rename_new(&self, from: &Path, to: &Path) -> io::Result<bool> {
        self.burn(|| Operation::Rename(from.into(), to.into()))?;
        match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
            Ok(()) => self.sync_parents(from, to).map(|()| true),
            Err(rustix::io::Errno::EXIST) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Removes a file; one that is gone already is fine.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<()> {
        self.burn(|| Operation::Remove(path.into()))?;
        match fs::remove_file(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error),
            Ok(()) => self.sync_directory(parent(path)),
        }
    }

    /// Removes a directory with all that is in it; one that is gone already is fine.
    pub(crate) fn remove_tree(&self, path: &Path) -> io::Result<()> {
        self.burn(|| Operation::Remove(path.into()))?;
        match fs::remove_dir_all(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        }
    }

    /// Makes a directory and those above it, durably; those that are there stay as they are.
    pub(crate) fn make_directory(&self, path: &Path) -> io::Result<()> {
        if path.is_dir() {
            return Ok(());
        }
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            self.make_directory(above)?;
        }
        self.burn(|| Operation::MakeDirectory(path.into()))?;
        match fs::create_dir(path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            other => other?,
        }
        self.sync_directory(parent(path))
    }

    fn sync_parents(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.sync_directory(parent(to))?;
        if parent(from) == parent(to) { Ok(()) } else { self.sync_directory(parent(from)) }
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.burn(|| Operation::SyncDirectory(path.into()))?;
        File::open(path)?.sync_all()
    }

    fn burn(&self, operation: impl FnOnce() -> Operation) -> io::Result<()> {
        self.fuse.as_ref().map_or(Ok(()), |fuse| fuse.before(&operation()))
    }
}

/// The directory of a file; that of a bare name is the working directory.
fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Payloads are nobody's but their owner's.
const FILE_MODE: u32 = 0o640;
