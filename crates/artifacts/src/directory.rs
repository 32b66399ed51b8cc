//! Keeps artifacts in a directory: `files/` as their paths say, `parts/` for what is not complete.
//!
//! A file is shown by one rename, when its content and its meta file (`.<name>.meta` beside it) are durable. A part is
//! called by a hash of its claim, so that two contents never meet in one, and what is left of a crash lies in one flat
//! directory.

mod upload;

use crate::{
    ArtifactStore, Claim, ContentHash, Finished, Kept, Opened, Progress, StoragePath, StoreError, Upload,
};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, SystemTime},
};
use upload::{Comparing, Pens, Writing};

#[cfg(test)]
mod tests;

/// Artifacts in a directory, for its owner only. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DirectoryStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: StoreDirectories,
    pens: Pens,
    /// Held while a file is shown, so that content and meta are of one upload.
    publishing: Mutex<()>,
}

impl DirectoryStore {
    /// Opens or makes the directory, and removes what a crash left in the middle of showing a file.
    ///
    /// # Errors
    /// When the directory cannot be made or read.
    pub fn open(root: &Path) -> io::Result<Self> {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(root)?;
        let place = StoreDirectories::open(root)?;
        for (name, _) in place.parts()? {
            if !name.ends_with(PART) {
                place.remove_part(&name)?;
            }
        }
        Ok(Self(Arc::new(Inner { place, pens: Pens::default(), publishing: Mutex::default() })))
    }
}

impl ArtifactStore for DirectoryStore {
    fn progress(&self, claim: &Claim) -> Result<Progress, StoreError> {
        if let Some((kept, _)) = self.0.kept(&claim.path)? {
            return if is_same(claim, &kept) {
                Ok(Progress::Complete(kept))
            } else {
                Err(StoreError::Conflict)
            };
        }
        let offset = self.0.place.part_length(&part_of(claim))?;
        if offset < claim.size || offset == 0 {
            return Ok(Progress::Partial(offset));
        }
        // Its last byte came, and then the answer or the server was lost: nothing is left to send.
        match self.resume(claim, offset).and_then(Upload::finish) {
            Ok(finished) => Ok(Progress::Complete(finished.kept)),
            Err(StoreError::Hash { .. }) => Ok(Progress::Partial(0)),
            Err(error) => Err(error),
        }
    }

    fn resume(&self, claim: &Claim, offset: u64) -> Result<Box<dyn Upload>, StoreError> {
        let pen = self.0.pens.take(part_of(claim));
        if let Some((kept, mut file)) = self.0.kept(&claim.path)? {
            file.seek(SeekFrom::Start(offset))?;
            return Ok(Box::new(Comparing::new(claim.clone(), kept, file, offset)));
        }
        Ok(Box::new(Writing::begin(Arc::clone(&self.0), claim.clone(), pen, offset)?))
    }

    fn read(&self, path: &StoragePath, from: u64) -> Result<Option<Opened>, StoreError> {
        let Some((kept, mut file)) = self.0.kept(path)? else {
            return Ok(None);
        };
        file.seek(SeekFrom::Start(from))?;
        Ok(Some(Opened { kept, content: Box::new(file) }))
    }

    fn sweep(&self, before: SystemTime) -> Result<usize, StoreError> {
        let mut swept = 0;
        for (name, touched_at) in self.0.place.parts()? {
            if touched_at < before && name.ends_with(PART) {
                self.0.place.remove_part(&name)?;
                swept += 1;
            }
        }
        Ok(swept)
    }
}

/// The name of a claim's part.
fn part_of(claim: &Claim) -> String {
    let Claim { path, size, content_type, sha256 } = claim;
    let text = format!("{path}\n{size}\n{content_type}\n{sha256:?}");
    format!("{}{PART}", ContentHash::of(text.as_bytes()))
}

/// True if what is kept is, as far as a claim tells, what it announces.
fn is_same(claim: &Claim, kept: &Kept) -> bool {
    let same_hash = claim.sha256.is_none_or(|hash| hash == kept.sha256);
    same_hash && claim.size == kept.size && claim.content_type == kept.content_type
}

impl Inner {
    /// Gives a durable part its name. Whoever came first stays.
    fn publish(&self, claim: &Claim, part: &str, sha256: ContentHash) -> Result<Finished, StoreError> {
        let kept = Kept { size: claim.size, content_type: claim.content_type.clone(), sha256 };
        let _publishing = self.publishing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((before, _)) = self.kept(&claim.path)? {
            self.place.remove_part(part)?;
            let same = is_same(claim, &before) && before.sha256 == sha256;
            return if same {
                Ok(Finished { kept: before, is_new: false })
            } else {
                Err(StoreError::Conflict)
            };
        }
        let directory = self.place.make_directory_of(&claim.path)?;
        let entry = Entry { directory: &directory, name: claim.path.split().1 };
        // The meta file first: a file that is shown has one, and one without its file shows nothing.
        self.place.write_meta(&entry, part, &kept)?;
        self.place.show(part, &entry)?;
        Ok(Finished { kept, is_new: true })
    }
}

/// The open directories. Every name is opened from the directory above it and no link is followed, so that nobody who
/// plants a link in the store leads a request out of it.
#[derive(Debug)]
struct StoreDirectories {
    files: OwnedFd,
    parts: OwnedFd,
}

/// The name of a file in an open directory.
struct Entry<'a> {
    directory: &'a OwnedFd,
    name: &'a str,
}

/// The text of a meta file.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    content_type: String,
    size: u64,
    sha256: String,
}

impl StoreDirectories {
    fn open(root: &Path) -> io::Result<Self> {
        let root = fs::open(root, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { files: make_directory(&root, "files")?, parts: make_directory(&root, "parts")? })
    }

    /// Files in `parts`, and when each was last touched.
    fn parts(&self) -> io::Result<Vec<(String, SystemTime)>> {
        let mut parts = Vec::new();
        for entry in Dir::read_from(&self.parts)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name != "." && name != ".." {
                let stat = fs::statat(&self.parts, &*name, AtFlags::SYMLINK_NOFOLLOW)?;
                let seconds = Duration::from_secs(u64::try_from(stat.st_mtime).unwrap_or(0));
                parts.push((name, SystemTime::UNIX_EPOCH + seconds));
            }
        }
        Ok(parts)
    }

    /// Length of a part; 0 where there is none.
    fn part_length(&self, part: &str) -> io::Result<u64> {
        match fs::statat(&self.parts, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(u64::try_from(stat.st_size).unwrap_or(0)),
            Err(Errno::NOENT) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a part, which is made where it is missing.
    fn open_part(&self, part: &str) -> io::Result<File> {
        Ok(fs::openat(&self.parts, part, PLAIN | OFlags::RDWR | OFlags::CREATE, OWNER_FILE)?.into())
    }

    fn remove_part(&self, name: &str) -> io::Result<()> {
        match fs::unlinkat(&self.parts, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the names in `parts` durable.
    fn sync_parts(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.parts)?)
    }

    /// True if so many more bytes fit and leave room for others: a file must not starve whoever shares the disk.
    fn has_room_for(&self, bytes: u64) -> io::Result<bool> {
        let room = fs::fstatvfs(&self.parts)?;
        let bytes_of = |blocks: u64| blocks.saturating_mul(room.f_frsize);
        let reserve = RESERVE_BYTES_MAX.min(bytes_of(room.f_blocks) / RESERVE_SHARE);
        Ok(bytes_of(room.f_bavail) >= bytes.saturating_add(reserve))
    }

    /// The directory of a path, made with those above it.
    fn make_directory_of(&self, path: &StoragePath) -> Result<OwnedFd, StoreError> {
        let mut at = fs::openat(&self.files, ".", DIRECTORY, Mode::empty()).map_err(io::Error::from)?;
        for name in path.split().0 {
            at = make_directory(&at, name)
                .map_err(|error| in_the_way(&error).unwrap_or_else(|| error.into()))?;
        }
        Ok(at)
    }

    /// The directory of a path, if it is there.
    fn directory_of(&self, path: &StoragePath) -> Result<OwnedFd, Errno> {
        let mut at = fs::openat(&self.files, ".", DIRECTORY, Mode::empty())?;
        for name in path.split().0 {
            at = fs::openat(&at, name, DIRECTORY, Mode::empty())?;
        }
        Ok(at)
    }

    /// Writes the meta file of a path and makes it durable.
    fn write_meta(&self, entry: &Entry<'_>, part: &str, kept: &Kept) -> io::Result<()> {
        let Entry { directory, name } = entry;
        let Kept { size, content_type, sha256 } = kept;
        let meta = Meta { content_type: content_type.clone(), size: *size, sha256: sha256.to_string() };
        let stray = part.replace(PART, META);
        let file = fs::openat(&self.parts, &*stray, PLAIN | OFlags::WRONLY | OFlags::CREATE, OWNER_FILE)?;
        let mut file = File::from(file);
        file.set_len(0)?;
        io::Write::write_all(&mut file, &serde_json::to_vec(&meta)?)?;
        file.sync_all()?;
        fs::renameat(&self.parts, &*stray, directory, meta_name(name))?;
        Ok(fs::fsync(directory)?)
    }

    /// Shows a part as the file of that name.
    fn show(&self, part: &str, entry: &Entry<'_>) -> io::Result<()> {
        fs::renameat(&self.parts, part, entry.directory, entry.name)?;
        Ok(fs::fsync(entry.directory)?)
    }
}

impl Inner {
    /// The complete file at a path, open for reading at its beginning.
    fn kept(&self, path: &StoragePath) -> Result<Option<(Kept, File)>, StoreError> {
        let name = path.split().1;
        let opened = self.place.directory_of(path).and_then(|directory| {
            let file = fs::openat(&directory, name, PLAIN | OFlags::RDONLY, Mode::empty())?;
            Ok((directory, file))
        });
        let (directory, file) = match opened {
            Ok(opened) => opened,
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => {
                return Err(in_the_way(&error.into()).unwrap_or_else(|| io::Error::from(error).into()));
            }
        };
        if FileType::from_raw_mode(fs::fstat(&file).map_err(io::Error::from)?.st_mode)
            != FileType::RegularFile
        {
            return Err(StoreError::Conflict);
        }
        Ok(Some((read_meta(&directory, name)?, file.into())))
    }
}

fn read_meta(directory: &OwnedFd, name: &str) -> io::Result<Kept> {
    let file = fs::openat(directory, meta_name(name), PLAIN | OFlags::RDONLY, Mode::empty())?;
    let mut text = Vec::new();
    File::from(file).take(META_BYTES_MAX).read_to_end(&mut text)?;
    let Meta { content_type, size, sha256 } = serde_json::from_slice(&text)?;
    let sha256 = sha256.parse().map_err(io::Error::other)?;
    Ok(Kept { size, content_type, sha256 })
}

/// Opens a directory below another, made for its owner only where it is missing.
fn make_directory(at: &OwnedFd, name: &str) -> io::Result<OwnedFd> {
    match fs::mkdirat(at, name, Mode::RWXU) {
        Ok(()) => fs::fsync(at)?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    Ok(fs::openat(at, name, DIRECTORY, Mode::empty())?)
}

/// A link, or a file where a directory should be: not ours to follow or to replace.
fn in_the_way(error: &io::Error) -> Option<StoreError> {
    let errno = Errno::from_io_error(error)?;
    matches!(errno, Errno::LOOP | Errno::NOTDIR | Errno::NXIO).then_some(StoreError::Conflict)
}

fn meta_name(name: &str) -> String {
    format!(".{name}{META}")
}

/// Suffix of the name of an unfinished upload.
const PART: &str = ".part";

/// Enough for a database to go on for a long while; on a small disk a twentieth of it.
const RESERVE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const RESERVE_SHARE: u64 = 20;
const META: &str = ".meta";
const META_BYTES_MAX: u64 = 4096;
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe that somebody planted must not make the opening wait.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
const OWNER_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
