//! Keeps artifacts in a directory: `files/` as their paths say, `parts/` for what is not complete.
//!
//! A file is shown by one rename, when its content and its meta file (`.<name>.meta` beside it) are durable. A part is
//! called by a hash of its claim, so that two contents never meet in one, and what is left of a crash lies in one flat
//! directory.

mod comparing;
mod pen;
mod place;
mod publish;
mod writing;

#[cfg(test)]
mod tests;

use crate::{ArtifactStore, Claim, ContentHash, Kept, Opened, Progress, StoragePath, StoreError, Upload};
use comparing::Comparing;
use pen::Pens;
use place::Place;
use std::{
    io::{self, Seek, SeekFrom},
    os::unix::fs::DirBuilderExt,
    path::Path,
    sync::{Arc, Mutex},
    time::SystemTime,
};
use writing::Writing;

/// Artifacts in a directory, for its owner only. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DirectoryStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    place: Place,
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
        let place = Place::open(root)?;
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

/// Whether what is kept is, as far as a claim tells, what it announces.
fn is_same(claim: &Claim, kept: &Kept) -> bool {
    let same_hash = claim.sha256.is_none_or(|hash| hash == kept.sha256);
    same_hash && claim.size == kept.size && claim.content_type == kept.content_type
}

/// How the name of an unfinished upload ends.
const PART: &str = ".part";
