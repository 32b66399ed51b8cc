//! The payloads of jobs handed in lately, so that handing them out costs no read.

use muster_model::PoolJobId;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

/// Remembers payloads up to a bounded number of bytes; the oldest go first.
#[derive(Default)]
pub(super) struct Payloads(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// By number, so by age.
    payloads: BTreeMap<PoolJobId, Arc<str>>,
    bytes: usize,
}

impl Payloads {
    pub(super) fn get(&self, job: PoolJobId) -> Option<Arc<str>> {
        self.with(|known| known.payloads.get(&job).cloned())
    }

    /// Remembers a payload; an empty one was left out and is none.
    pub(super) fn put(&self, job: PoolJobId, payload: &Arc<str>) {
        if payload.is_empty() || payload.len() > PAYLOAD_MAX {
            return;
        }
        self.with(|known| {
            known.forget(job);
            known.bytes += payload.len() + ENTRY;
            known.payloads.insert(job, Arc::clone(payload));
            while known.bytes > BYTES_MAX
                && let Some((oldest, _)) = known.payloads.first_key_value()
            {
                known.forget(*oldest);
            }
        });
    }

    pub(super) fn remove(&self, job: PoolJobId) {
        self.with(|known| known.forget(job));
    }

    pub(super) fn clear(&self) {
        self.with(|known| *known = Known::default());
    }

    fn with<T>(&self, look: impl FnOnce(&mut Known) -> T) -> T {
        look(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Known {
    fn forget(&mut self, job: PoolJobId) {
        if let Some(payload) = self.payloads.remove(&job) {
            self.bytes -= payload.len() + ENTRY;
        }
    }
}

const BYTES_MAX: usize = 64 << 20;
const PAYLOAD_MAX: usize = 64 << 10;
/// About what an entry costs beside its text.
const ENTRY: usize = 96;

#[cfg(test)]
mod tests {
    use super::*;

    /// Memory stays bounded whichever jobs go and stay; what goes first is the oldest.
    #[test]
    fn the_oldest_make_room() {
        let payloads = Payloads::default();
        let payload: Arc<str> = "x".repeat(PAYLOAD_MAX).into();
        let fit = BYTES_MAX / (PAYLOAD_MAX + ENTRY);
        let jobs = (1..=fit as u64 + 1).map(PoolJobId);
        jobs.for_each(|job| payloads.put(job, &payload));
        assert!(payloads.get(PoolJobId(1)).is_none() && payloads.get(PoolJobId(2)).is_some());
        payloads.remove(PoolJobId(2));
        payloads.put(PoolJobId(1), &payload);
        assert!(payloads.get(PoolJobId(1)).is_some());
        (1..=fit as u64 + 1).for_each(|job| payloads.remove(PoolJobId(job)));
        assert_eq!(payloads.with(|known| (known.bytes, known.payloads.len())), (0, 0));
        payloads.put(PoolJobId(7), &"".into());
        assert!(payloads.get(PoolJobId(7)).is_none());
    }
}
