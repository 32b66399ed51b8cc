//! Setting apart what is not valid (C1, C12).

use super::{Fault, Folder};
use crate::{Id, Place, layout::REJECTED};
use std::{
    ffi::{OsStr, OsString},
    fs::File,
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

/// With a number, `.reason` and the name of a temporary file it still fits 255.
const NAME_BYTES_MAX: usize = 230;
const REASON_CHARS_MAX: usize = 500;
