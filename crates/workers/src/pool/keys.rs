//! The key that results are signed with: in a file for its owner only (P16, I6).
//!
//! While a key is replaced, the new one waits in a file beside it, `FILE.next`, until the server has it; then it takes
//! the place of the old one in one step. So there is never a moment at which the server's key is on no disk.

use muster_proof::KeyPair;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

/// Reason why there is no key. None of these shows one.
#[derive(Debug, thiserror::Error)]
pub enum KeyFileError {
    /// Others than the owner can read it, or write it.
    #[error(
        "others can read the key in {}: chmod 600 it first, and replace it with --rotate-key if they may have",
        .0.display()
    )]
    Exposed(PathBuf),
    /// It is not as long as a key is.
    #[error("{} holds {found} bytes, a key has {SEED_BYTES}; name another file, or move it away to have a key made", path.display())]
    Length {
        /// The file.
        path: PathBuf,
        /// Its length.
        found: usize,
    },
    /// The disk refused.
    #[error("could not {doing} the key {}: {error}", path.display())]
    Io {
        /// The operation, as a verb.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the disk.
        error: io::Error,
    },
}

/// A key in a file, and perhaps one that is to replace it.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    current: KeyPair,
    next: Option<KeyPair>,
}

impl KeyFile {
    /// Reads the key in a file, or makes one there. With `rotate` one that shall replace it is made beside it; one that
    /// is there already is left from a replacement that broke off, and is used.
    ///
    /// `seed` draws 32 random bytes that nobody can guess.
    pub fn open(
        path: &Path,
        rotate: bool,
        seed: impl Fn() -> [u8; SEED_BYTES],
    ) -> Result<Self, KeyFileError> {
        let next_path = beside(path, NEXT);
        let current = match read(path)? {
            Some(keys) => keys,
            None => make(path, &seed())?,
        };
        let next = match read(&next_path)? {
            None if rotate => Some(make(&next_path, &seed())?),
            found => found,
        };
        Ok(Self { path: path.to_owned(), current, next })
    }

    /// The key that results are signed with.
    #[must_use]
    pub const fn current(&self) -> &KeyPair {
        &self.current
    }

    /// The key that shall replace it.
    #[must_use]
    pub const fn next(&self) -> Option<&KeyPair> {
        self.next.as_ref()
    }

    /// Puts the next key in the place of the current one, durably.
    pub fn replace(&mut self) -> Result<(), KeyFileError> {
        let Some(next) = self.next.clone() else { return Ok(()) };
        let refused = refused("replace", &self.path);
        match fs::rename(beside(&self.path, NEXT), &self.path) {
            // An earlier try came so far, and only the directory could not be synced.
            Err(error) if error.kind() == io::ErrorKind::NotFound && self.is_in_place(&next)? => Ok(()),
            renamed => renamed,
        }
        .and_then(|()| sync_above(&self.path))
        .map_err(refused)?;
        (self.current, self.next) = (next, None);
        Ok(())
    }

    fn is_in_place(&self, next: &KeyPair) -> Result<bool, KeyFileError> {
        Ok(read(&self.path)?.is_some_and(|found| found.public_text() == next.public_text()))
    }
}

fn read(path: &Path) -> Result<Option<KeyPair>, KeyFileError> {
    let mut file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        opened => opened.map_err(refused("open", path))?,
    };
    let metadata = file.metadata().map_err(refused("look at", path))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        return Err(KeyFileError::Exposed(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let limit = SEED_BYTES as u64 + 1;
    (&mut file).take(limit).read_to_end(&mut bytes).map_err(refused("read", path))?;
    let found = usize::try_from(metadata.len()).unwrap_or(usize::MAX).max(bytes.len());
    let seed = <[u8; SEED_BYTES]>::try_from(bytes);
    let seed = seed.map_err(|_| KeyFileError::Length { path: path.to_owned(), found })?;
    Ok(Some(KeyPair::from_seed(&seed)))
}

/// Makes a file that is whole as soon as it has its name, and that replaces no other.
fn make(path: &Path, seed: &[u8; SEED_BYTES]) -> Result<KeyPair, KeyFileError> {
    let draft = beside(path, DRAFT);
    let written = || {
        // A draft that a crash left there is worthless.
        match fs::remove_file(&draft) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&draft)?;
        file.write_all(seed)?;
        file.sync_all()?;
        renameat_with(CWD, &draft, CWD, path, RenameFlags::NOREPLACE)?;
        sync_above(path)
    };
    written().map_err(refused("make", path))?;
    Ok(KeyPair::from_seed(seed))
}

fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(end);
    name.into()
}

fn sync_above(path: &Path) -> io::Result<()> {
    let above = path.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    File::open(above)?.sync_all()
}

fn refused(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> KeyFileError {
    let path = path.to_owned();
    move |error| KeyFileError::Io { doing, path, error }
}

/// Length of a key.
pub const SEED_BYTES: usize = 32;
const NEXT: &str = ".next";
const DRAFT: &str = ".draft";

#[cfg(test)]
mod tests {
    use super::*;

    fn open(path: &Path, rotate: bool, seed: u8) -> Result<KeyFile, KeyFileError> {
        KeyFile::open(path, rotate, || [seed; SEED_BYTES])
    }

    fn public(seed: u8) -> String {
        KeyPair::from_seed(&[seed; SEED_BYTES]).public_text()
    }

    /// P16, I6: a key is made once, for its owner only, and found again.
    #[test]
    fn a_key_is_made_and_kept() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        assert_eq!(open(&path, false, 1).unwrap().current().public_text(), public(1));
        let again = open(&path, false, 2).unwrap();
        assert_eq!(again.current().public_text(), public(1));
        assert!(again.next().is_none());
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read(&path).unwrap(), [1; SEED_BYTES]);
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    /// P16, I6: a file that others can read is refused, with what to do; so is one that is no key. Neither is changed,
    /// and no error shows what is in it.
    #[test]
    fn a_file_that_is_no_secret_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        for mode in [0o640, 0o604, 0o620, 0o666] {
            fs::write(&path, [b's'; SEED_BYTES]).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = open(&path, false, 2).unwrap_err().to_string();
            assert!(error.contains("chmod 600") && error.contains("key"), "{error}");
        }
        for content in [&b""[..], &b"sss"[..], &[b's'; 33][..], &[b's'; 5000][..]] {
            fs::write(&path, content).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            let error = open(&path, true, 2).unwrap_err().to_string();
            assert!(
                error.contains(&format!("holds {} bytes", content.len())) && !error.contains("sss"),
                "{error}"
            );
            assert_eq!(fs::read(&path).unwrap(), content);
        }
        let missing = open(&place.path().join("no/key"), false, 1).unwrap_err().to_string();
        assert!(missing.contains("no/key"), "{missing}");
    }

    /// P16: the new key waits beside the old one, whatever happens, until it takes its place.
    #[test]
    fn a_key_is_replaced_in_one_step() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        open(&path, false, 1).unwrap();
        let keys = open(&path, true, 2).unwrap();
        assert_eq!(keys.next().unwrap().public_text(), public(2));
        drop(keys);
        for rotate in [false, true] {
            let keys = open(&path, rotate, 3).unwrap();
            assert_eq!(keys.next().unwrap().public_text(), public(2), "what was begun is finished");
            assert_eq!(keys.current().public_text(), public(1));
        }
        let mut keys = open(&path, false, 3).unwrap();
        keys.replace().unwrap();
        assert_eq!(keys.current().public_text(), public(2));
        let keys = open(&path, false, 3).unwrap();
        assert_eq!((keys.current().public_text(), keys.next().is_none()), (public(2), true));
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }

    /// P16: a replacement whose last step failed is finished by the next try; one whose new key is lost is not.
    #[test]
    fn a_replacement_is_tried_again() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("key");
        open(&path, false, 1).unwrap();
        let mut keys = open(&path, true, 2).unwrap();
        fs::rename(beside(&path, NEXT), &path).unwrap();
        keys.replace().unwrap();
        assert_eq!((keys.current().public_text(), keys.next().is_none()), (public(2), true));
        let mut keys = open(&path, true, 3).unwrap();
        fs::remove_file(beside(&path, NEXT)).unwrap();
        let error = keys.replace().unwrap_err().to_string();
        assert!(error.contains("replace the key"), "{error}");
        assert_eq!(keys.current().public_text(), public(2));
    }
}
