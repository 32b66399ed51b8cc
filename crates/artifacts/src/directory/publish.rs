//! Shows a complete part as a file.

use super::{Claim, Inner, Kept, StoreError, is_same, place::Entry};
use crate::{ContentHash, Finished};
use std::sync::PoisonError;

impl Inner {
    /// Gives a durable part its name. Whoever came first stays.
    pub(super) fn publish(
        &self,
        claim: &Claim,
        part: &str,
        sha256: ContentHash,
    ) -> Result<Finished, StoreError> {
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
