//! Open directories, and moves between them that never write over anything and never copy: a name is here or there.
//!
//! Every name is looked up in the directory above it and no link is followed, so that whoever plants one leads nobody out
//! of the output root.

use super::OutputError;
use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags, RenameFlags},
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
        self.make_with(name.as_ref(), Self::sync)
    }

    /// As [`Self::make`], for what may be lost with the power as long as nothing is in it.
    pub(super) fn make_soon(&self, name: impl AsRef<OsStr>) -> Result<Self, OutputError> {
        self.make_with(name.as_ref(), |_| Ok(()))
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
        let file = step().and_then(|()| fs::openat(&self.handle, name, flags, FILE_MODE));
        Ok(file.map_err(|error| OutputError::disk("make", self.path_of(name), error))?.into())
    }

    /// Looks at a name without following a link; none where it is free.
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

    /// The text of a link.
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
        sync(&self.handle).map_err(|error| OutputError::disk("make durable", &self.path, error))
    }

    /// Takes a name away. Only for files of ours that nobody was shown.
    pub(super) fn remove(&self, name: impl AsRef<OsStr>) -> Result<(), OutputError> {
        let name = name.as_ref();
        match self.entry(name).unlink() {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(OutputError::disk("remove", self.path_of(name), error)),
        }
    }

    /// The path it was found at.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The path of a name in it.
    pub(super) fn path_of(&self, name: impl AsRef<OsStr>) -> PathBuf {
        self.path.join(name.as_ref())
    }

    /// One of its names, for moves.
    pub(super) fn entry<'a>(&'a self, name: &'a (impl AsRef<OsStr> + ?Sized)) -> EntryName<'a> {
        EntryName { directory: self, name: name.as_ref() }
    }

    /// An error that says what stands at a name.
    pub(super) fn in_the_way(&self, name: impl AsRef<OsStr>, wanted: &'static str) -> OutputError {
        let found = match self.look(name.as_ref()) {
            Ok(Some(seen)) => word_for(seen.kind),
            _ => "something",
        };
        OutputError::InTheWay { path: self.path_of(name), found, wanted }
    }

    fn make_with(
        &self,
        name: &OsStr,
        keep: impl FnOnce(&Self) -> Result<(), OutputError>,
    ) -> Result<Self, OutputError> {
        if let Some(directory) = self.child(name)? {
            return Ok(directory);
        }
        match step().and_then(|()| fs::mkdirat(&self.handle, name, DIRECTORY_MODE)) {
            // Another may have been faster.
            Ok(()) | Err(Errno::EXIST) => keep(self)?,
            Err(error) => return Err(OutputError::disk("make the directory", self.path_of(name), error)),
        }
        self.existing(name)
    }

    /// Opens a directory that must be there.
    fn existing(&self, name: &OsStr) -> Result<Self, OutputError> {
        let gone = || OutputError::disk("open", self.path_of(name), Errno::NOENT);
        self.child(name)?.ok_or_else(gone)
    }
}

/// The kind and identity of the file behind a name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Directory, file, link or something else.
    pub(super) kind: FileType,
    /// Tells two files apart.
    pub(super) identity: (u64, u64),
    /// In seconds, by the clock of the file system.
    pub(super) changed_at: i64,
}

/// The word for a kind of file.
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

/// A name in an open directory.
#[derive(Clone, Copy, Debug)]
pub(super) struct EntryName<'a> {
    pub(super) directory: &'a Directory,
    pub(super) name: &'a OsStr,
}

/// The result of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Move {
    /// It is where it should be, and stays there when the power fails.
    Done,
    /// The name has another owner.
    Taken,
    /// It was not there.
    Gone,
}

impl EntryName<'_> {
    /// Moves something to a name that must be free.
    pub(super) fn rename_new(self, to: EntryName<'_>) -> Result<Move, OutputError> {
        let (from_directory, to_directory) = (&self.directory.handle, &to.directory.handle);
        let rename = |()| match knows_noreplace() {
            true => {
                let flag = RenameFlags::NOREPLACE;
                fs::renameat_with(from_directory, self.name, to_directory, to.name, flag)
            }
            false => Err(Errno::INVAL),
        };
        match step().and_then(rename) {
            Ok(()) => self.settle(to),
            Err(Errno::EXIST) => self.taken(to),
            Err(Errno::NOENT) => Ok(Move::Gone),
            // Network file systems do not know the flag.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.rename_without_flag(to),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Moves something to the first free one of the names that `name_of` gives to 0, 1, 2, …
    pub(super) fn rename_fresh(
        self,
        to: &Directory,
        name_of: impl Fn(u32) -> String,
    ) -> Result<Move, OutputError> {
        for number in 0..NAMES_TRIED_MAX {
            match self.rename_new(to.entry(&name_of(number)))? {
                Move::Taken => {}
                moved => return Ok(moved),
            }
        }
        Err(to.in_the_way(name_of(0), "a free name"))
    }

    /// Gives a file a second name.
    pub(super) fn link(self, to: EntryName<'_>) -> Result<(), Errno> {
        step()?;
        fs::linkat(&self.directory.handle, self.name, &to.directory.handle, to.name, AtFlags::empty())
    }

    /// Moves something in place of what has that name, if anything.
    pub(super) fn rename(self, to: EntryName<'_>) -> Result<(), Errno> {
        step()?;
        fs::renameat(&self.directory.handle, self.name, &to.directory.handle, to.name)
    }

    fn unlink(self) -> Result<(), Errno> {
        step()?;
        fs::unlinkat(&self.directory.handle, self.name, AtFlags::empty())
    }

    /// A directory never takes the place of a file, nor of a directory that holds something; a file is given its second
    /// name before it loses the first.
    fn rename_without_flag(self, to: EntryName<'_>) -> Result<Move, OutputError> {
        let Some(seen) = self.directory.look(self.name)? else { return Ok(Move::Gone) };
        let moved = match seen.kind {
            FileType::Directory => self.rename(to),
            _ => self.link(to).and_then(|()| self.unlink()),
        };
        match moved {
            Ok(()) => self.settle(to),
            Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => self.taken(to),
            Err(Errno::NOENT) => Ok(Move::Gone),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// A crash between the two halves of [`Self::rename_without_flag`] leaves one file with both names.
    fn taken(self, to: EntryName<'_>) -> Result<Move, OutputError> {
        let identity = |seen: Seen| (seen.kind != FileType::Directory).then_some(seen.identity);
        let ours = self.directory.look(self.name)?.and_then(identity);
        if ours.is_none() || ours != to.directory.look(to.name)?.and_then(identity) {
            return Ok(Move::Taken);
        }
        self.unlink().map_err(|error| self.failed(error))?;
        self.settle(to)
    }

    /// The new name first: in between, a crash may show both, never none.
    fn settle(self, to: EntryName<'_>) -> Result<Move, OutputError> {
        to.directory.sync()?;
        self.directory.sync()?;
        Ok(Move::Done)
    }

    fn failed(self, error: Errno) -> OutputError {
        OutputError::disk("move", self.directory.path_of(self.name), error)
    }
}

/// Called before each change to the disk, which a test may fail.
#[cfg_attr(
    not(test),
    allow(clippy::unnecessary_wraps, clippy::missing_const_for_fn, reason = "fails in tests")
)]
pub(super) fn step() -> Result<(), Errno> {
    #[cfg(test)]
    crash::step()?;
    Ok(())
}

/// Makes a file or a directory durable. In tests it is a change like any other: no test cuts the power, and thousands of
/// crashes are quicker without.
pub(super) fn sync(file: impl AsFd) -> Result<(), Errno> {
    step()?;
    if cfg!(test) { Ok(()) } else { fs::fsync(file) }
}

/// Returns whether the flag may be tried; a test has file systems that do not know it.
fn knows_noreplace() -> bool {
    #[cfg(test)]
    return crash::knows_noreplace();
    #[cfg(not(test))]
    true
}

/// The word for links, which are never followed.
pub(super) const A_LINK: &str = "a symbolic link";
const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe that somebody planted must not make the opening wait.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
/// Workers may be other users: whoever runs the server says by umask who may write.
const DIRECTORY_MODE: Mode = Mode::RWXU.union(Mode::RWXG).union(Mode::RWXO);
const FILE_MODE: Mode =
    Mode::RUSR.union(Mode::WUSR).union(Mode::RGRP).union(Mode::WGRP).union(Mode::ROTH).union(Mode::WOTH);

/// The names that are tried: no worker comes late ten thousand times.
pub(super) const NAMES_TRIED_MAX: u32 = 10_000;

/// Faults that a test may plant: the server dies before any change to the disk, or a flag that not every file system knows
/// is refused.
#[cfg(test)]
pub(super) mod crash {
    use rustix::io::Errno;
    use std::cell::Cell;

    thread_local! {
        static LEFT: Cell<Option<u32>> = const { Cell::new(None) };
        static DIED: Cell<bool> = const { Cell::new(false) };
        static NOREPLACE: Cell<bool> = const { Cell::new(true) };
    }

    /// Fails once the granted changes are used up, and for ever after: the dead do not clean up.
    pub(super) fn step() -> Result<(), Errno> {
        match LEFT.get() {
            None => Ok(()),
            Some(0) => {
                DIED.set(true);
                Err(Errno::IO)
            }
            Some(left) => {
                LEFT.set(Some(left - 1));
                Ok(())
            }
        }
    }

    /// Runs something that may change the disk so many times; says whether it died.
    pub(crate) fn after<T>(changes: u32, run: impl FnOnce() -> T) -> (T, bool) {
        LEFT.set(Some(changes));
        let result = run();
        LEFT.set(None);
        (result, DIED.replace(false))
    }

    pub(super) fn knows_noreplace() -> bool {
        NOREPLACE.get()
    }

    /// Runs something on a disk that does not know the flag.
    pub(crate) fn without_noreplace(run: impl FnOnce()) {
        NOREPLACE.set(false);
        run();
        NOREPLACE.set(true);
    }
}
