//! The payloads of jobs handed in lately, so that handing them out costs no read.

use muster_model::PoolJobId;
use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, PoisonError},
};

/// Remembers payloads up to a bounded number of bytes; the oldest go first.
#[derive(Default)]
pub(super) struct Payloads(Mutex<Known>);

#[derive(Default)]
struct Known {
    payloads: HashMap<PoolJobId, Arc<str>>,
    oldest_first: VecDeque<PoolJobId>,
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
            known.bytes += payload.len() + ENTRY;
            known.payloads.insert(job, Arc::clone(payload));
            known.oldest_first.push_back(job);
            while known.bytes > BYTES_MAX
                && let Some(oldest) = known.oldest_first.pop_front()
            {
                known.forget(oldest);
            }
        });
    }

    pub(super) fn remove(&self, job: PoolJobId) {
        self.with(|known| {
            known.forget(job);
            // Those at the front are mostly over by now.
            while known.oldest_first.front().is_some_and(|job| !known.payloads.contains_key(job)) {
                known.oldest_first.pop_front();
            }
        });
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
