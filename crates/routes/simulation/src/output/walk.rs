//! All files below a directory, with what proves their content.

use super::{
    directory::{Directory, Seen},
    error::OutputError,
};
use rustix::fs::FileType;
use sha2::{Digest, Sha256};
use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Read},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

/// A file as it was found.
#[derive(Debug)]
pub(super) struct Found {
    /// Relative to where the walk began.
    pub(super) path: PathBuf,
    /// In bytes.
    pub(super) size: u64,
    /// In lower-case hexadecimal digits; none where there is nothing to read.
    pub(super) sha256: Option<String>,
    /// Set where it is no plain file.
    pub(super) special: Option<Special>,
}

/// What is no plain file.
#[derive(Debug)]
pub(super) enum Special {
    /// A symbolic link, and its text; it was not followed.
    Link(String),
    /// A pipe, a socket or a device.
    Device,
    /// A directory so deep that it was not entered.
    Depths,
}

/// What is done with each file.
pub(super) type Visit<'a> = &'a mut dyn FnMut(Found) -> Result<(), OutputError>;

/// Shows every file below a directory, in the order of their names.
pub(super) fn walk(directory: &Directory, visit: Visit<'_>) -> Result<(), OutputError> {
    descend(directory, Path::new(""), DEPTH_MAX, visit)
}

fn descend(directory: &Directory, path: &Path, depth: u32, visit: Visit<'_>) -> Result<(), OutputError> {
    for name in directory.names()? {
        // A worker that still writes may take something away; what is not there need not be kept.
        let Some(seen) = directory.look(&name)? else { continue };
        let path = path.join(&name);
        if seen.kind == FileType::Directory && depth > 0 {
            if let Some(below) = directory.child(&name)? {
                descend(&below, &path, depth - 1, visit)?;
            }
        } else if let Some(found) = look_at(directory, &name, seen, path)? {
            visit(found)?;
        }
    }
    Ok(())
}

/// One file that is no directory to enter; none where it went away. `path` is what it will be called.
pub(super) fn look_at(
    directory: &Directory,
    name: &OsStr,
    seen: Seen,
    path: PathBuf,
) -> Result<Option<Found>, OutputError> {
    let (size, sha256, special) = match seen.kind {
        FileType::RegularFile => {
            let Some(file) = directory.file(name)? else { return Ok(None) };
            let (size, hash) =
                hash(file).map_err(|error| OutputError::disk("read", directory.path_of(name), error))?;
            (size, Some(hash), None)
        }
        FileType::Symlink => {
            let text = directory.link(name)?;
            let special = Special::Link(text.to_string_lossy().into_owned());
            (text.len() as u64, Some(hex(&Sha256::digest(text.as_bytes()))), Some(special))
        }
        FileType::Directory => (0, None, Some(Special::Depths)),
        _ => (0, None, Some(Special::Device)),
    };
    Ok(Some(Found { path, size, sha256, special }))
}

/// Size and hash of what the file held when it was opened: whoever still appends to it does not hold up the audit.
fn hash(file: File) -> io::Result<(u64, String)> {
    let length = file.metadata()?.len();
    let mut buffer = vec![0; usize::try_from(length).map_or(BUFFER_BYTES, |length| length.min(BUFFER_BYTES))];
    let (mut content, mut hasher, mut size) = (file.take(length), Sha256::new(), 0);
    loop {
        match content.read(&mut buffer)? {
            0 => return Ok((size, hex(&hasher.finalize()))),
            length => {
                hasher.update(&buffer[..length]);
                size += length as u64;
            }
        }
    }
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const BUFFER_BYTES: usize = 256 * 1024;
/// Each level holds a directory open; no renderer nests this deep.
const DEPTH_MAX: u32 = 64;
