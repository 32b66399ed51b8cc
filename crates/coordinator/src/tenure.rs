//! Whether what memory holds may be taken for the truth now (S18).

use muster_model::Timestamp;
use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicI64, Ordering},
};

/// For how long nobody else can lead, as every reader of memory sees it.
pub(crate) struct Tenure {
    /// The running term; 0: none.
    epoch: Mutex<u64>,
    /// By the server's own clock.
    sole_until: AtomicI64,
}

impl Default for Tenure {
    fn default() -> Self {
        Self { epoch: Mutex::default(), sole_until: AtomicI64::new(i64::MIN) }
    }
}

impl Tenure {
    /// A term begins; without an end, nobody shares the store.
    pub(crate) fn begin(&self, epoch: u64, sole_until: Option<Timestamp>) {
        let mut running = self.lock();
        *running = epoch;
        self.sole_until.store(sole_until.map_or(i64::MAX, |until| until.0), Ordering::Release);
    }

    /// The leader showed life. A word that comes after the term ended changes nothing.
    pub(crate) fn prolong(&self, epoch: u64, sole_until: Timestamp) {
        let running = self.lock();
        if *running == epoch {
            self.sole_until.store(sole_until.0, Ordering::Release);
        }
    }

    /// A term ended; whether it was the running one.
    pub(crate) fn end(&self, epoch: u64) -> bool {
        let mut running = self.lock();
        let is_running = *running == epoch;
        if is_running {
            *running = 0;
            self.sole_until.store(i64::MIN, Ordering::Release);
        }
        is_running
    }

    /// True while this term has not ended, also when its lease has to be shown anew.
    pub(crate) fn runs(&self, epoch: u64) -> bool {
        *self.lock() == epoch
    }

    /// Whether a term runs and nobody else can lead.
    pub(crate) fn is_sole(&self, now: Timestamp) -> bool {
        now.0 < self.sole_until.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.epoch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// S18: memory speaks for a term that runs, for as long as nobody else can lead; a late word revives none.
    #[test]
    fn memory_speaks_only_for_the_term_that_runs() {
        let tenure = Tenure::default();
        assert!(!tenure.is_sole(Timestamp(0)));
        tenure.begin(3, Some(Timestamp(100)));
        assert!(tenure.is_sole(Timestamp(99)) && !tenure.is_sole(Timestamp(100)));
        tenure.prolong(3, Timestamp(200));
        assert!(tenure.is_sole(Timestamp(199)));
        assert!(!tenure.end(2) && tenure.is_sole(Timestamp(199)), "another term's end");
        assert!(tenure.runs(3) && !tenure.runs(2));
        assert!(tenure.end(3));
        assert!(!tenure.runs(3));
        tenure.prolong(3, Timestamp(300));
        assert!(!tenure.is_sole(Timestamp(250)));
        tenure.begin(4, None);
        assert!(tenure.is_sole(Timestamp(i64::MAX - 1)));
    }
}
