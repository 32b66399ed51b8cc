//! Setting apart what is not valid (C1, C12).

use super::{Fault, Folder};
use crate::{Id, Place, layout::REJECTED};
use std::{
    ffi::{OsStr, OsString},
    io,
    path::PathBuf,
};

impl Folder {
    /// Moves a file to `rejected/`, beside one sentence that says why. A taken name gets a number.
    ///
    /// The reason is written first: after a crash between the two the file is found again and takes the same place.
    pub fn reject(&self, place: Place, name: &OsStr, reason: &str) -> Result<(), Fault> {
        let source = self.directory(place).join(name);
        for number in 0u32.. {
            let target = self.path(REJECTED).join(numbered(name, number));
            if target.symlink_metadata().is_ok() {
                continue;
            }
            self.replace(&with_reason(&target), format!("{}\n", sentence(reason)).as_bytes())?;
            match self.disk.rename_new(&source, &target) {
                Ok(true) => break,
                Ok(false) => {}
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    // Its producer took it back; then there is nothing to give a reason for.
                    let path = with_reason(&target);
                    return self.disk.remove(&path).map_err(|error| Fault::Io(path, error));
                }
                Err(error) => return Err(Fault::Io(source, error)),
            }
        }
        Ok(())
    }

    /// Sets bytes apart that never were a file of the court, beside one sentence that says why; does nothing where the
    /// name is taken.
    ///
    /// The name must be that of these bytes alone: then whoever meets them again leaves no second copy.
    pub fn reject_bytes(&self, name: &Id, bytes: &[u8], reason: &str) -> Result<(), Fault> {
        let target = self.path(REJECTED).join(name.as_str());
        if target.symlink_metadata().is_ok() {
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

fn with_reason(target: &std::path::Path) -> PathBuf {
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
