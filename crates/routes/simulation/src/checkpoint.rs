//! Everything that contract S knows, in one document that can be checked and restored (S20).

mod gather;
mod keep;
mod moment;
mod restore;
mod row;

pub use keep::{KeepError, keep_checkpoints};
pub use restore::{BYTES_MAX, Checkpoint, ReadError, RestoreError, Restored};

use crate::simulation::Simulation;
use gather::{Live, gather};
use muster_coordinator::Refusal;
use muster_model::{FrameQuery, FrameView};
use sha2::{Digest, Sha256};

impl Simulation {
    /// Takes a checkpoint: `{"checkpoint":{"distributed":{…}},"sha256":"…"}` in canonical JSON, so that whoever reads it
    /// can write `checkpoint` again in the same letters and compare the hash.
    ///
    /// # Errors
    /// When memory cannot be asked or the store cannot be read.
    pub async fn checkpoint(&self) -> Result<Vec<u8>, Refusal> {
        let _turn = self.0.checkpointing.acquire().await;
        let coordinator = &self.0.coordinator;
        let live = Live {
            status: match coordinator.frames(FrameQuery::Status).await? {
                FrameView::Status(status) => status,
                _ => return Err(Refusal::Unavailable),
            },
            renderers: match coordinator.frames(FrameQuery::AllRenderers).await? {
                FrameView::Renderers(renderers) => renderers,
                _ => return Err(Refusal::Unavailable),
            },
            epoch: coordinator.epoch(),
            at: coordinator.now(),
            chunk_size: coordinator.settings().frames.chunk_size,
        };
        let distributed = coordinator.read(move |reader| gather(reader, &live)).await?;
        Ok(seal(&distributed))
    }
}

/// Puts the hash beside what it is of.
fn seal(distributed: &str) -> Vec<u8> {
    let checkpoint = format!("{{\"distributed\":{distributed}}}");
    let hash = crate::output::hex(&Sha256::digest(checkpoint.as_bytes()));
    format!("{{\"checkpoint\":{checkpoint},\"sha256\":\"{hash}\"}}").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    /// S20: the hash is that of the canonical form of what stands beside it.
    #[test]
    fn the_hash_is_of_the_checkpoint() {
        let sealed = seal(r#"{"epoch":1,"tasks":[]}"#);
        let document: Value = serde_json::from_slice(&sealed).unwrap();
        let checkpoint = document["checkpoint"].to_string();
        assert_eq!(checkpoint, r#"{"distributed":{"epoch":1,"tasks":[]}}"#);
        assert_eq!(document["sha256"], crate::output::hex(&Sha256::digest(checkpoint.as_bytes())));
        assert_eq!(sealed, document.to_string().into_bytes());
    }
}
