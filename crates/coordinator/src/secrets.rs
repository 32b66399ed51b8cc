//! The secrets of single workers, by hash; what is durable is valid.

use muster_model::{Name, SecretRecord, Timestamp};
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    sync::{PoisonError, RwLock},
};
use subtle::ConstantTimeEq;

#[derive(Default)]
pub(crate) struct Secrets(RwLock<HashMap<Name, Vec<SecretRecord>>>);

impl Secrets {
    pub(crate) fn set(&self, worker: &Name, secrets: &[SecretRecord]) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(worker.clone(), secrets.to_vec());
    }

    pub(crate) fn clear(&self) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Looks at every secret it may be, so that the time tells nothing of which it was.
    pub(crate) fn knows(&self, worker: Option<&Name>, secret: &str, now: Timestamp) -> bool {
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        let secrets = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let matches = |known: &SecretRecord| {
            let valid = known.valid_until.is_none_or(|until| now < until);
            valid & bool::from(known.hash.ct_eq(&hash))
        };
        match worker {
            Some(worker) => secrets
                .get(worker)
                .is_some_and(|known| known.iter().fold(false, |any, one| any | matches(one))),
            None => secrets.values().flatten().fold(false, |any, known| any | matches(known)),
        }
    }
}
