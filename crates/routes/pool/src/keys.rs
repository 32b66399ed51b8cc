//! Cache of the workers' keys.

use muster_contract_pool::{Refusal, read_worker_key};
use muster_proof::PublicKey;
use quick_cache::sync::Cache;
use std::sync::Arc;

/// Keys by their texts, so that each is decoded once. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WorkerKeys(Arc<Cache<String, Arc<PublicKey>>>);

impl Default for WorkerKeys {
    fn default() -> Self {
        Self(Arc::new(Cache::new(KEYS_MAX)))
    }
}

impl WorkerKeys {
    /// Reads a worker's key as it was registered: any text.
    pub(crate) fn read(&self, public_key: Option<&str>) -> Result<Arc<PublicKey>, Refusal> {
        let text = public_key.unwrap_or_default();
        self.0.get_or_insert_with(text, || read_worker_key(public_key).map(Arc::new))
    }
}

/// About 10 MiB, computed.
const KEYS_MAX: usize = 65_536;

#[cfg(test)]
mod tests {
    use super::*;
    use muster_proof::KeyPair;

    /// P8: a cached key is the same key; a text that is not a key is checked again each time.
    #[test]
    fn keys_are_cached_by_their_texts() {
        let keys = WorkerKeys::default();
        let text = KeyPair::from_seed(&[1; 32]).public_text();
        let first = keys.read(Some(&text)).unwrap();
        assert!(Arc::ptr_eq(&first, &keys.read(Some(&text)).unwrap()));
        assert_eq!(keys.read(Some("YWFh")).unwrap_err().detail, "Invalid public key length");
        assert_eq!(keys.read(None).unwrap_err().detail, "Worker public key is not configured");
        assert_eq!(keys.0.len(), 1);
    }
}
