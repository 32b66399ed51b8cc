//! The directory of the fragments. Every name is opened from the directory itself and no link is followed, so that
//! whoever plants one leads nobody out of it. A file is written beside its place and shown by one rename.

use crate::{
    merge::{MergeError, Source, Take, Unreadable},
    name::FragmentName,
};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Dir, DirEntry, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

/// An open directory.
pub(crate) struct Folder {
    directory: OwnedFd,
    pub(crate) path: PathBuf,
}

impl Folder {
    pub(crate) fn open(path: &Path) -> Result<Self, MergeError> {
        let open = |flags| fs::open(path, flags, Mode::empty());
        let directory = open(OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY)
            .map_err(|error| MergeError::Directory { path: path.to_owned(), error: error.into() })?;
        Ok(Self { directory, path: path.to_owned() })
    }

    /// Reads a file of this directory; none where there is no such file.
    pub(crate) fn read(&self, file: &str, into: &mut Vec<u8>) -> Result<Option<()>, Unreadable> {
        into.clear();
        let opened = match fs::openat(&self.directory, file, PLAIN, Mode::empty()) {
            Ok(opened) => File::from(opened),
            Err(Errno::NOENT) => return Ok(None),
            Err(Errno::LOOP) => return Err(Unreadable::Link),
            Err(Errno::NXIO) => return Err(Unreadable::NotAFile),
            Err(error) => return Err(io::Error::from(error).into()),
        };
        let kind = fs::fstat(&opened).map_err(io::Error::from)?.st_mode;
        if FileType::from_raw_mode(kind) != FileType::RegularFile {
            return Err(Unreadable::NotAFile);
        }
        let read = opened.take(BYTES_MAX + 1).read_to_end(into)?;
        if read as u64 > BYTES_MAX {
            return Err(Unreadable::TooLarge { limit_bytes: BYTES_MAX });
        }
        Ok(Some(()))
    }

    /// Puts a file in place of another in one step, durable before it is seen.
    pub(crate) fn replace(
        &self,
        file: &str,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), MergeError> {
        let failed =
            |error| MergeError::Io { doing: format!("write {}", self.path.join(file).display()), error };
        let (part, name) = self.create_beside(file).map_err(failed)?;
        let shown = fill(part, write)
            .and_then(|()| Ok(fs::renameat(&self.directory, &*name, &self.directory, file)?));
        if shown.is_err() {
            // It was made just above and nobody has seen it; if it stays, it is in nobody's way.
            let _ = fs::unlinkat(&self.directory, &*name, AtFlags::empty());
        }
        shown.and_then(|()| Ok(fs::fsync(&self.directory)?)).map_err(failed)
    }

    /// Makes a file that was not there, whoever else merges at the same time or left something behind.
    fn create_beside(&self, file: &str) -> io::Result<(File, String)> {
        let process = std::process::id();
        for number in 0..PARTS_MAX {
            let name = format!(".{file}.{process}-{number}.part");
            match fs::openat(&self.directory, &*name, NEW, FILE_MODE) {
                Ok(part) => return Ok((part.into(), name)),
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::Error::other(format!("too many unfinished .{file}.*.part: move them away")))
    }
}

fn fill(part: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut part = BufWriter::with_capacity(BUFFER_BYTES, part);
    write(&mut part)?;
    part.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
}

impl Source for Folder {
    fn count(&mut self) -> io::Result<usize> {
        let is_fragment =
            |entry: &DirEntry| FragmentName::parse(&entry.file_name().to_string_lossy()).is_some();
        Ok(Dir::read_from(&self.directory)?.filter_map(Result::ok).filter(is_fragment).count())
    }

    fn each(&mut self, take: &mut Take<'_>) -> io::Result<()> {
        let mut bytes = Vec::new();
        for entry in Dir::read_from(&self.directory)? {
            let entry = entry?;
            let file = entry.file_name().to_string_lossy();
            if FragmentName::parse(&file).is_none() {
                continue;
            }
            match self.read(&file, &mut bytes) {
                Ok(Some(())) => take(&file, Ok(&bytes)),
                // It went away since the directory was read.
                Ok(None) if entry.file_name().to_str().is_ok() => {}
                Ok(None) => take(&file, Err(Unreadable::NotAFile)),
                Err(error) => take(&file, Err(error)),
            }
        }
        Ok(())
    }

    fn again(&mut self, file: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.read(file, &mut bytes) {
            Ok(Some(())) => Ok(bytes),
            Ok(None) => Err(io::ErrorKind::NotFound.into()),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// More than any fragment needs; beyond it a file is no fragment but an attempt to fill the memory.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
const BUFFER_BYTES: usize = 1 << 16;
const PARTS_MAX: u32 = 1000;
/// A pipe that somebody planted must not make the opening wait.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::RDONLY);
const NEW: OFlags =
    OFlags::CREATE.union(OFlags::EXCL).union(OFlags::WRONLY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// As the process's mask allows: whoever may read the directory may read the manifest.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
