//! The keys of workers that handed something in lately, read once.

use crate::translate::{Words, read_key_text};
use muster_proof::PublicKey;
use std::{
    collections::HashMap,
    sync::{Arc, PoisonError, RwLock},
};

/// Keys by their texts: to find the point of the curve that a text stands for costs a tenth of a verification. Cheap to
/// clone.
#[derive(Clone, Default)]
pub(crate) struct WorkerKeys(Arc<RwLock<HashMap<Box<str>, Arc<PublicKey>>>>);

impl WorkerKeys {
    /// Reads a worker's key as it was registered, whatever that was.
    pub(crate) fn read(&self, public_key: Option<&str>) -> Result<Arc<PublicKey>, Words> {
        let known = |text| self.0.read().unwrap_or_else(PoisonError::into_inner).get(text).cloned();
        if let Some(key) = public_key.and_then(known) {
            return Ok(key);
        }
        let key = Arc::new(read_key_text(public_key)?);
        let mut keys = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if keys.len() >= KEYS_MAX {
            // Rare, and those that are still used are read again at once.
            keys.clear();
        }
        keys.insert(public_key.unwrap_or_default().into(), Arc::clone(&key));
        Ok(key)
    }
}

/// About 25 MiB.
const KEYS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_proof::KeyPair;

    /// P8: a key that is remembered is the same key; what is none is judged anew, and memory is bounded.
    #[test]
    fn keys_are_remembered_by_their_texts() {
        let keys = WorkerKeys::default();
        let text = KeyPair::from_seed(&[1; 32]).public_text();
        let first = keys.read(Some(&text)).unwrap();
        assert!(Arc::ptr_eq(&first, &keys.read(Some(&text)).unwrap()));
        assert_eq!(keys.read(Some("YWFh")).unwrap_err().detail, "Invalid public key length");
        assert_eq!(keys.read(None).unwrap_err().detail, "Worker public key is not configured");
        for n in 0..=KEYS_MAX {
            keys.0.write().unwrap().insert(n.to_string().into(), Arc::clone(&first));
        }
        keys.read(Some(&KeyPair::from_seed(&[2; 32]).public_text())).unwrap();
        assert_eq!(keys.0.read().unwrap().len(), 1);
    }
}
