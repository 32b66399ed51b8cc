//! The directory itself. Every name is opened from the directory above it and no link is followed, so that whoever
//! plants one in the store leads nobody out of it.

use super::{Inner, Kept, PART, StoragePath, StoreError};
use rustix::{
    fd::OwnedFd,
    fs::{self, AtFlags, Dir, FileType, Mode, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};
use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    time::{Duration, SystemTime},
};

/// The open directories.
#[derive(Debug)]
pub(super) struct Place {
    files: OwnedFd,
    parts: OwnedFd,
}

/// The name of a file in an open directory.
pub(super) struct Entry<'a> {
    pub(super) directory: &'a OwnedFd,
    pub(super) name: &'a str,
}

/// The text of a meta file.
#[derive(Debug, Serialize, Deserialize)]
struct Meta {
    content_type: String,
    size: u64,
    sha256: String,
}

impl Place {
    pub(super) fn open(root: &Path) -> io::Result<Self> {
        let root = fs::open(root, DIRECTORY - OFlags::NOFOLLOW, Mode::empty())?;
        Ok(Self { files: make_directory(&root, "files")?, parts: make_directory(&root, "parts")? })
    }

    /// What lies in `parts`, and when it was last touched.
    pub(super) fn parts(&self) -> io::Result<Vec<(String, SystemTime)>> {
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

    /// How long a part is; 0 where there is none.
    pub(super) fn part_length(&self, part: &str) -> io::Result<u64> {
        match fs::statat(&self.parts, part, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(u64::try_from(stat.st_size).unwrap_or(0)),
            Err(Errno::NOENT) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }

    /// Opens a part, which is made where it is missing.
    pub(super) fn open_part(&self, part: &str) -> io::Result<File> {
        Ok(fs::openat(&self.parts, part, PLAIN | OFlags::RDWR | OFlags::CREATE, OWNER_FILE)?.into())
    }

    pub(super) fn remove_part(&self, name: &str) -> io::Result<()> {
        match fs::unlinkat(&self.parts, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes the names in `parts` durable.
    pub(super) fn sync_parts(&self) -> io::Result<()> {
        Ok(fs::fsync(&self.parts)?)
    }

    /// Whether so many more bytes fit and leave room for others: a file must not starve whoever shares the disk.
    pub(super) fn has_room_for(&self, bytes: u64) -> io::Result<bool> {
        let room = fs::fstatvfs(&self.parts)?;
        let bytes_of = |blocks: u64| blocks.saturating_mul(room.f_frsize);
        let reserve = RESERVE_BYTES_MAX.min(bytes_of(room.f_blocks) / RESERVE_SHARE);
        Ok(bytes_of(room.f_bavail) >= bytes.saturating_add(reserve))
    }

    /// The directory of a path, made with those above it.
    pub(super) fn make_directory_of(&self, path: &StoragePath) -> Result<OwnedFd, StoreError> {
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
    pub(super) fn write_meta(&self, entry: &Entry<'_>, part: &str, kept: &Kept) -> io::Result<()> {
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
    pub(super) fn show(&self, part: &str, entry: &Entry<'_>) -> io::Result<()> {
        fs::renameat(&self.parts, part, entry.directory, entry.name)?;
        Ok(fs::fsync(entry.directory)?)
    }
}

impl Inner {
    /// The complete file at a path, open for reading at its beginning.
    pub(super) fn kept(&self, path: &StoragePath) -> Result<Option<(Kept, File)>, StoreError> {
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

/// Enough for a database to go on for a long while; on a small disk a twentieth of it.
const RESERVE_BYTES_MAX: u64 = 64 * 1024 * 1024;
const RESERVE_SHARE: u64 = 20;
const META: &str = ".meta";
const META_BYTES_MAX: u64 = 4096;
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// A pipe that somebody planted must not make the opening wait.
const PLAIN: OFlags = OFlags::NOFOLLOW.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK);
const OWNER_FILE: Mode = Mode::RUSR.union(Mode::WUSR);
