//! Writes down when an API key was last used, to the minute (P13).

use muster_coordinator::Coordinator;
use muster_model::{ApiKeyRecord, Millis, ask::accounts::TouchKey};
use std::{
    collections::HashSet,
    sync::{Arc, Mutex, PoisonError},
};

/// The keys whose use is being written down just now. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct KeyUse(Arc<Mutex<HashSet<u64>>>);

impl KeyUse {
    /// Has the use of a key written down, unless that happened within the minute. Nobody waits for it.
    pub(crate) fn note(&self, coordinator: &Coordinator, key: &ApiKeyRecord) {
        let is_known = key.last_used_at.is_some_and(|used| coordinator.now() - used < PRECISION);
        if is_known || !self.touching(|touching| touching.insert(key.id)) {
            return;
        }
        let (this, coordinator, key) = (self.clone(), coordinator.clone(), key.id);
        tokio::spawn(async move {
            // What fails is done by the next use.
            let _ = coordinator.ask(TouchKey { key }).await;
            this.touching(|touching| touching.remove(&key));
        });
    }

    fn touching<T>(&self, look: impl FnOnce(&mut HashSet<u64>) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

const PRECISION: Millis = Millis::from_secs(60);
