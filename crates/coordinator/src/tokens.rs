//! Whose a simulation worker's token is. Only hashes are known here.

use muster_model::{FrameChange, Name};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

/// Hashes of tokens, both ways.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<Known>);

#[derive(Default)]
struct Known {
    owners: HashMap<[u8; 32], Name>,
    hashes: HashMap<Name, [u8; 32]>,
}

impl Tokens {
    /// The worker that a token belongs to. What is looked up is its hash, so how long it takes tells nothing.
    pub(crate) fn owner(&self, token: &str) -> Option<Name> {
        let hash: [u8; 32] = Sha256::digest(token.as_bytes()).into();
        self.known(|known| known.owners.get(&hash).cloned())
    }

    /// Takes over what became durable; a new token of a worker ends the one before (S1).
    pub(crate) fn follow(&self, change: &FrameChange) {
        self.known(|known| match change {
            FrameChange::Renderer(record) => {
                if let Some(old) = known.hashes.insert(record.id.clone(), record.token_hash) {
                    known.owners.remove(&old);
                }
                known.owners.insert(record.token_hash, record.id.clone());
            }
            FrameChange::RendererGone(worker) => {
                if let Some(old) = known.hashes.remove(worker) {
                    known.owners.remove(&old);
                }
            }
            _ => {}
        });
    }

    /// Forgets all, before a term is loaded.
    pub(crate) fn clear(&self) {
        self.known(|known| *known = Known::default());
    }

    fn known<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
