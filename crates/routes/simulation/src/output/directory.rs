//! An open directory. Every name is looked up in the directory above it and no link is followed, so that whoever plants
//! one leads nobody out of the output root.

use super::{crash, error::OutputError};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// An open directory, and where it was found, for people.
#[derive(Debug)]
pub(super) struct Directory {
    handle: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Opens the one directory that is named by its path.
    pub(super) fn open(path: &Path) -> Result<Self, OutputError> {
        let handle = fs::open(path, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())
            .map_err(|error| OutputError::disk("open", path, error))?;
        Ok(Self { handle, path: path.to_owned() })
    }

    /// Opens a directory below this one, if it is there.
    pub(super) fn child(&self, name: impl AsRef<OsStr>) -> Result<Option<Self>, OutputError> {
        let name = name.as_ref();
        match fs::openat(&self.handle, name, DIRECTORY, Mode::empty()) {
            Ok(handle) => Ok(Some(Self { handle, path: self.path_of(name) })),
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::LOOP | Errno::NOTDIR) => Err(self.in_the_way(name, "a directory")),
            Err(error) => Err(OutputError::disk("open", self.path_of(name), error)),
        }
    }

    /// Opens the directory at the end of a way down, if it is there.
    pub(super) fn descend(&self, parts: &[&str]) -> Result<Option<Self>, OutputError> {
        let Some((first, rest)) = parts.split_first() else {
            return self.child(".");
        };
        let mut at = self.child(first)?;
        for part in rest {
            let Some(directory) = at else { return Ok(None) };
            at = directory.child(part)?;
        }
        Ok(at)
    }

    /// Opens a directory below this one, which is made, and made durable, where it is missing.
    pub(super) fn make(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        let name = name.as_ref();
        match self.child(name)? {
            Some(directory) => Ok(directory),
            None => {
                self.create(name)?;
                self.sync()?;
                self.existing(name)
            }
        }
    }

    /// As [`Self::make`], for what may be lost with the power as long as nothing is in it.
    pub(super) fn make_soon(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        let name = name.as_ref();
        match self.child(name)? {
            Some(directory) => Ok(directory),
            None => self.create(name).and_then(|()| self.existing(name)),
        }
    }

    /// Opens the directory at the end of a way down, which is made where it is missing.
    pub(super) fn make_all(&self, parts: &[&str]) -> Result<Self, OutputError> {
        let mut at = self.existing(OsStr::new("."))?;
        for part in parts {
            at = at.make(part)?;
        }
        Ok(at)
    }

    /// Opens a plain file for reading, if it is there.
    pub(super) fn file(&self, name: impl AsRef<OsStr>) -> Result<Option<File>, OutputError> {
        let name = name.as_ref();
        let file = match fs::openat(&self.handle, name, PLAIN | OFlags::RDONLY, Mode::empty()) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP | Errno::NXIO) => return Err(self.in_the_way(name, "a file")),
            Err(error) => return Err(OutputError::disk("read", self.path_of(name), error)),
        };
        let stat = fs::fstat(&file).map_err(|error| OutputError::disk("read", self.path_of(name), error))?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok(Some(file.into())),
            _ => Err(self.in_the_way(name, "a file")),
        }
    }

    /// Opens a file that did not exist, for writing.
    pub(super) fn new_file(&self, name: &str) -> Result<File, OutputError> {
        let flags = PLAIN | OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
        let file = crash::step().and_then(|()| fs::openat(&self.handle, name, flags, FILE_MODE));
        Ok(file.map_err(|error| OutputError::disk("make", self.path_of(name), error))?.into())
    }

    /// What a name stands for, and which one it is on the disk; none where it is free.
    pub(super) fn look(&self, name: impl AsRef<OsStr>) -> Result<Option<Seen>, OutputError> {
        let name = name.as_ref();
        match fs::statat(&self.handle, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => {
                let kind = FileType::from_raw_mode(stat.st_mode);
                Ok(Some(Seen { kind, identity: (stat.st_dev, stat.st_ino), changed_at: stat.st_mtime }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(OutputError::disk("look at", self.path_of(name), error)),
        }
    }

    /// Where a link leads, as its text says.
    pub(super) fn link(&self, name: &OsStr) -> Result<OsString, OutputError> {
        let text = fs::readlinkat(&self.handle, name, Vec::new())
            .map_err(|error| OutputError::disk("read the link", self.path_of(name), error))?;
        Ok(OsStr::from_bytes(text.as_bytes()).to_owned())
    }

    /// All names in it, sorted.
    pub(super) fn names(&self) -> Result<Vec<OsString>, OutputError> {
        let failed = |error| OutputError::disk("list", &self.path, error);
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name != "." && name != ".." {
                names.push(name.to_owned());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Makes its names durable.
    pub(super) fn sync(&self) -> Result<(), OutputError> {
        crash::sync(&self.handle).map_err(|error| OutputError::disk("make durable", &self.path, error))
    }

    /// Takes a name away. Only for files of ours that nobody was shown.
    pub(super) fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let name = name.as_ref();
        match crash::step().and_then(|()| fs::unlinkat(&self.handle, name, AtFlags::empty())) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(OutputError::disk("remove", self.path_of(name), error)),
        }
    }

    /// Where it was found.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Where a name in it is found.
    pub(super) fn path_of(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// For calls that take a name relative to it.
    pub(super) fn handle(&self) -> &OwnedFd {
        &self.handle
    }

    /// An error that says what stands at a name.
    pub(super) fn in_the_way(&self, name: impl AsRef<OsStr>, wanted: &'static str) -> OutputError {
        let found = match self.look(name.as_ref()) {
            Ok(Some(seen)) => word_for(seen.kind),
            _ => "something",
        };
        OutputError::InTheWay { path: self.path_of(name), found, wanted }
    }

    /// Makes a directory; another may have been faster.
    fn create(&self, name: &OsStr) -> Result<(), OutputError> {
        match crash::step().and_then(|()| fs::mkdirat(&self.handle, name, DIRECTORY_MODE)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(OutputError::disk("make the directory", self.path_of(name), error)),
        }
    }

    /// Opens a directory that must be there.
    fn existing(&self, name: &OsStr) -> Result<Self, OutputError> {
        let gone = || OutputError::disk("open", self.path_of(name), Errno::NOENT);
        self.child(name)?.ok_or_else(gone)
    }
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Directory, file, link or something else.
    pub(super) kind: FileType,
    /// Tells two files apart.
    pub(super) identity: (u64, u64),
    /// In seconds, by the clock of the file system.
    pub(super) changed_at: i64,
}

/// What people call it.
fn word_for(kind: FileType) -> &'static str {
    match kind {
        FileType::RegularFile => "a file",
        FileType::Directory => "a directory",
        FileType::Symlink => A_LINK,
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        _ => "a device",
    }
}

/// What people call what is never followed.
pub(super) const A_LINK: &str = "a symbolic link";
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe that somebody planted must not make the opening wait.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
/// Workers may be other users: whoever runs the server says by umask who may write.
const DIRECTORY_MODE: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
const FILE_MODE: Mode =
    Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::WGRP).union(Mode::ROTH).union(Mode::WOTH);
