//! Moves invalid files to `rejected/` (C1, C12) and removes what dead writers left behind (C4).

use super::{Fault, Folder, TEMPORARY};
use crate::{
    Id, Place,
    layout::{OTHERS, REJECTED},
};
use jiff::{SignedDuration, Timestamp};
use std::{
    ffi::{OsStr, OsString},
    fs::{self, DirEntry, File, Metadata},
    io,
    path::{Path, PathBuf},
};

impl Folder {
    /// Moves a file to `rejected/`, beside one sentence that says why. A taken name gets a number.
    ///
    /// The reason is written first: after a crash between the two the file is found again and takes the same place. A
    /// reason of other words is somebody else's, or was itself set apart; its name is taken, too.
    pub fn reject(&self, place: Place, name: &OsStr, reason: &str) -> Result<(), Fault> {
        let source = self.directory(place).join(name);
        let reason = format!("{}\n", sentence(reason));
        let _turn = self.turn_to_reject()?;
        for number in 0u32.. {
            let target = self.path(REJECTED).join(numbered(name, number));
            if is_there(&target) || !self.give_reason(&with_reason(&target), reason.as_bytes())? {
                continue;
            }
            match self.disk.rename_new(&source, &target) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Its producer took it back, or another role set it apart: there is nothing to give a reason for.
                    let path = with_reason(&target);
                    return self.disk.remove(&path).map_err(|error| Fault::Io(path, error));
                }
                Err(error) => return Err(Fault::Io(source, error)),
            }
        }
        Ok(())
    }

    /// Moves a file of this id to `rejected/`.
    pub fn reject_file(&self, place: Place, id: &Id, reason: &str) -> Result<(), Fault> {
        self.reject(place, id.file_name().as_ref(), reason)
    }

    /// Puts a reason down, unless there is one of other words; says whether it is there now.
    fn give_reason(&self, path: &Path, reason: &[u8]) -> Result<bool, Fault> {
        if self.place_new(path, reason)? {
            return Ok(true);
        }
        match self.bytes(path) {
            Ok(there) => Ok(there == reason),
            Err(Fault::Io(path, error)) => Err(Fault::Io(path, error)),
            Err(_) => Ok(false),
        }
    }

    /// Waits until nobody else sets something apart: two roles may see the same file, or files of the same name.
    fn turn_to_reject(&self) -> Result<File, Fault> {
        let path = self.path(REJECTED);
        let taken = File::open(&path).and_then(|directory| directory.lock().map(|()| directory));
        taken.map_err(|error| Fault::Io(path, error))
    }

    /// Sets bytes apart that never were a file of the court, beside one sentence that says why; does nothing where the
    /// name is taken.
    ///
    /// The name must be that of these bytes alone: then whoever meets them again leaves no second copy.
    pub fn reject_bytes(&self, name: &Id, bytes: &[u8], reason: &str) -> Result<(), Fault> {
        let target = self.path(REJECTED).join(name.as_str());
        if is_there(&target) {
            return Ok(());
        }
        self.replace(&with_reason(&target), format!("{}\n", sentence(reason)).as_bytes())?;
        self.replace(&target, bytes)
    }
}

/// A name in `rejected/`, short enough to have a reason beside it.
fn numbered(name: &OsStr, number: u32) -> OsString {
    let suffix = if number == 0 { String::new() } else { format!(".{number}") };
    let mut kept = name.to_owned();
    if name.len() > NAME_BYTES_MAX {
        kept = String::from_utf8_lossy(name.as_encoded_bytes())
            .chars()
            .take(NAME_BYTES_MAX / 4)
            .collect::<String>()
            .into();
    }
    kept.push(suffix);
    kept
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

fn with_reason(target: &Path) -> PathBuf {
    let mut path = target.as_os_str().to_owned();
    path.push(".reason");
    path.into()
}

/// One line, whatever the file had in it.
pub(crate) fn sentence(reason: &str) -> String {
    let line = reason.chars().map(|char| if char.is_control() { ' ' } else { char });
    line.take(REASON_CHARS_MAX).collect()
}

impl Folder {
    /// Removes temporary files whose writer is dead, or that nobody can be writing any more.
    pub fn sweep(&self, now: Timestamp) -> Result<(), Fault> {
        for path in Place::all().map(Place::path).chain(OTHERS).chain(["state", "."]) {
            self.sweep_directory(&self.path(path), now)?;
        }
        Ok(())
    }

    fn sweep_directory(&self, directory: &Path, now: Timestamp) -> Result<(), Fault> {
        let failed = |error| Fault::Io(directory.into(), error);
        for entry in fs::read_dir(directory).map_err(failed)?.flatten() {
            if !is_left(&entry, now) {
                continue;
            }
            if let Err(error) = self.disk.remove(&entry.path()) {
                let path = entry.path();
                tracing::warn!(path = %path.display(), %error, "a temporary file cannot be removed");
            }
        }
        Ok(())
    }
}

/// True if an entry is a temporary file that nobody is writing.
fn is_left(entry: &DirEntry, now: Timestamp) -> bool {
    let name = entry.file_name();
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)) else { return false };
    let Ok(metadata) = entry.metadata() else { return false };
    let is_old = modified(&metadata).is_none_or(|modified| now.duration_since(modified) > TEMPORARY_AGE_MAX);
    metadata.is_file() && (is_old || !is_alive(rest))
}

/// Time of the last write to a file.
pub(crate) fn modified(metadata: &Metadata) -> Option<Timestamp> {
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

/// True if the process that a temporary file is named after exists.
fn is_alive(rest: &str) -> bool {
    let pid = rest.split('-').next().and_then(|pid| pid.parse::<u32>().ok());
    pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

/// With a number, `.reason` and the name of a temporary file it still fits 255.
const NAME_BYTES_MAX: usize = 230;
const REASON_CHARS_MAX: usize = 500;
pub(crate) const TEMPORARY_AGE_MAX: SignedDuration = SignedDuration::from_secs(60);
