//! Removing what writers left behind when they died (C4).

use super::{Fault, Folder, TEMPORARY};
use crate::{Place, layout::OTHERS};
use jiff::{SignedDuration, Timestamp};
use std::{
    fs::{self, DirEntry, Metadata},
    path::Path,
};

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

/// Whether an entry is a temporary file that nobody is writing.
fn is_left(entry: &DirEntry, now: Timestamp) -> bool {
    let name = entry.file_name();
    let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(TEMPORARY)) else { return false };
    let Ok(metadata) = entry.metadata() else { return false };
    let is_old = modified(&metadata).is_none_or(|modified| now.duration_since(modified) > TEMPORARY_AGE_MAX);
    metadata.is_file() && (is_old || !is_alive(rest))
}

/// When a file was last written.
pub(crate) fn modified(metadata: &Metadata) -> Option<Timestamp> {
    Timestamp::try_from(metadata.modified().ok()?).ok()
}

/// Whether the process that a temporary file is named after is there.
fn is_alive(rest: &str) -> bool {
    let pid = rest.split('-').next().and_then(|pid| pid.parse::<u32>().ok());
    pid.is_some_and(|pid| Path::new(&format!("/proc/{pid}")).exists())
}

pub(crate) const TEMPORARY_AGE_MAX: SignedDuration = SignedDuration::from_secs(60);
