//! The merge of a directory: reads `session.json`, `completions.jsonl` and the fragments, writes `manifest.json` and
//! `manifest_merge.log`.
//!
//! Every name is opened relative to the directory and no link is followed, so that a planted link cannot lead out of it.
//! A file is written under a temporary name and then renamed.

use crate::{
    completions::COMPLETIONS,
    merge::{
        FileRefusal, MergeError, MergeOptions, MergeReport, Merged, Refused, Source, Take, TakeLine,
        Unreadable, merge,
    },
    name::FragmentName,
    session::Session,
};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Dir, DirEntry, FileType, Mode, OFlags},
    io::Errno,
};
use std::{
    fs::File,
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    path::{Path, PathBuf},
};

/// Merges all fragments of a directory into its `manifest.json`.
///
/// Deletes nothing, follows no link, and replaces an existing manifest in one step.
///
/// # Errors
/// If the directory cannot be read or written, or has nothing to merge. Bad fragments are no error: the report names
/// them.
pub fn merge_directory(directory: &Path, options: &MergeOptions<'_>) -> Result<MergeReport, MergeError> {
    let mut folder = Folder::open(directory)?;
    let merged = merge_folder(&mut folder, options)?;
    if merged.is_empty() {
        return Err(MergeError::Nothing(folder.path));
    }
    folder.replace(MANIFEST, |out| merged.write_manifest(out))?;
    folder.replace(LOG, |out| merged.write_log(out))?;
    Ok(merged.into_report())
}

/// Merges and writes nothing.
pub(crate) fn merge_folder(folder: &mut Folder, options: &MergeOptions<'_>) -> Result<Merged, MergeError> {
    let (session, refused) = match read_session(folder) {
        Ok(session) => (session.unwrap_or_default(), None),
        Err(reason) => (Session::default(), Some(Refused { file: SESSION.to_owned(), reason })),
    };
    let mut merged = merge(folder, session, options)?;
    merged.refuse(refused);
    Ok(merged)
}

/// Reads `session.json`; none if there is no such file.
pub(crate) fn read_session(folder: &Folder) -> Result<Option<Session>, FileRefusal> {
    let mut bytes = Vec::new();
    match folder.read(SESSION, &mut bytes)? {
        Some(()) => Session::parse(&bytes).map(Some).map_err(|error| FileRefusal::Session(error.to_string())),
        None => Ok(None),
    }
}

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

    /// Reads a file of this directory; none if there is no such file.
    pub(crate) fn read(&self, file: &str, into: &mut Vec<u8>) -> Result<Option<()>, Unreadable> {
        into.clear();
        let Some(opened) = self.open_file(file)? else { return Ok(None) };
        let read = opened.take(BYTES_MAX + 1).read_to_end(into)?;
        if read as u64 > BYTES_MAX {
            return Err(Unreadable::TooLarge { limit_bytes: BYTES_MAX });
        }
        Ok(Some(()))
    }

    fn open_file(&self, file: &str) -> Result<Option<File>, Unreadable> {
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
        Ok(Some(opened))
    }

    /// Shows the lines of a file one by one; none if there is no such file. A file may be of any size, a line may not.
    fn read_lines(&self, file: &str, take: &mut TakeLine<'_>) -> Result<(), Unreadable> {
        let Some(opened) = self.open_file(file)? else { return Ok(()) };
        let (mut from, mut line) = (BufReader::with_capacity(BUFFER_BYTES, opened), Vec::new());
        while from.by_ref().take(BYTES_MAX + 1).read_until(b'\n', &mut line)? > 0 {
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            if text.len() as u64 > BYTES_MAX {
                return Err(Unreadable::TooLarge { limit_bytes: BYTES_MAX });
            }
            take(Ok(text));
            line.clear();
        }
        Ok(())
    }

    /// Replaces a file in one step. Its content is durable before it becomes visible.
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
            // This process has just created it. If it stays, it does no harm.
            let _ = fs::unlinkat(&self.directory, &*name, AtFlags::empty());
        }
        shown.and_then(|()| Ok(fs::fsync(&self.directory)?)).map_err(failed)
    }

    /// Creates a new file beside others that a merge at the same time or a killed one may have left.
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
                // It was removed after the directory was read.
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

    fn completions(&mut self, take: &mut TakeLine<'_>) {
        if let Err(error) = self.read_lines(COMPLETIONS, take) {
            take(Err(error));
        }
    }
}

/// The name of the manifest.
pub const MANIFEST: &str = "manifest.json";
/// The name of the log of a merge.
pub const LOG: &str = "manifest_merge.log";
/// The name of the file of the session.
pub const SESSION: &str = "session.json";

/// The limit of a fragment and of a line. A larger one is no honest fragment but an attempt to fill the memory.
const BYTES_MAX: u64 = 256 * 1024 * 1024;
const BUFFER_BYTES: usize = 1 << 16;
const PARTS_MAX: u32 = 1000;
/// Opening must not wait for a planted pipe.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::RDONLY);
const NEW: OFlags =
    OFlags::CREATE.union(OFlags::EXCL).union(OFlags::WRONLY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// Subject to the umask of the process.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
