//! The lease of a running term (S18): the thread that shows life, and for how long memory may be trusted.

use crate::{
    Lead, Lease,
    driver::{AbortOnPanic, Message},
    shared::Shared,
};
use muster_model::Timestamp;
use muster_store::{Election, StoreError};
use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicI64, Ordering},
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// The election of a leader, and its lease there.
pub(crate) struct LeaderLease {
    pub(crate) election: Arc<dyn Election>,
    pub(crate) lease: Lease,
}

/// The thread that shows life; dropping this ends it.
pub(crate) struct Renewing {
    _stop: mpsc::Sender<()>,
}

impl Renewing {
    pub(crate) fn start(office: LeaderLease, epoch: u64, shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let (stop, stopped) = mpsc::channel();
        let mut renewal = Renewal { office, epoch, shared: Arc::clone(shared) };
        let run = move || {
            let _abort = AbortOnPanic;
            renewal.run(&stopped);
        };
        let spawned = thread::Builder::new().name("muster-lease".into()).spawn(run);
        spawned.map_err(|error| StoreError::Backend(error.to_string()))?;
        Ok(Self { _stop: stop })
    }
}

struct Renewal {
    office: LeaderLease,
    epoch: u64,
    shared: Arc<Shared>,
}

impl Renewal {
    fn run(&mut self, stopped: &mpsc::Receiver<()>) {
        while stopped.recv_timeout(self.pause()) == Err(RecvTimeoutError::Timeout) {
            if let Err(error) = self.show_life() {
                self.depose(error);
                return;
            }
        }
    }

    fn pause(&self) -> Duration {
        let left = self.office.lease.next_renewal() - self.shared.time.local();
        Duration::from_millis(left.0.max(0).unsigned_abs())
    }

    /// Shows life once; an error when the lease is lost.
    fn show_life(&mut self) -> Result<(), StoreError> {
        let sent = self.shared.time.local();
        match self.office.election.renew(self.epoch) {
            Ok(()) => {
                self.renewed(sent);
                Ok(())
            }
            Err(StoreError::Superseded) => Err(StoreError::Superseded),
            Err(error) => self.failed(error),
        }
    }

    fn renewed(&mut self, sent: Timestamp) {
        self.office.lease.renewed(sent);
        self.shared.running.prolong(self.epoch, self.office.lease.sole_until());
        self.shared.stats.renewed_at(sent);
        self.shared.outage.answered(self.shared.time.local());
    }

    fn failed(&mut self, error: StoreError) -> Result<(), StoreError> {
        let now = self.shared.time.local();
        self.shared.outage.failed(&error, now);
        if self.office.lease.has_run_out(now) {
            return Err(error);
        }
        self.office.lease.failed(now);
        Ok(())
    }

    /// Ends the term: no request is answered from memory from here on, even while the driver is busy.
    fn depose(&self, error: StoreError) {
        self.shared.outage.ended_term(&error);
        if self.shared.running.end(self.epoch) {
            self.shared.lead.send_replace(Lead::Nowhere);
        }
        // A driver that is gone leads nothing.
        let _ = self.shared.inbox.send_urgent(Message::Deposed(self.epoch, error));
    }
}

/// For how long nobody else can lead, as every reader of memory sees it.
pub(crate) struct RunningTerm {
    /// The running term; 0: none.
    epoch: Mutex<u64>,
    /// By the server's own clock.
    sole_until: AtomicI64,
}

impl Default for RunningTerm {
    fn default() -> Self {
        Self { epoch: Mutex::default(), sole_until: AtomicI64::new(i64::MIN) }
    }
}

impl RunningTerm {
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

    /// True if a term runs and nobody else can lead.
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
        let term = RunningTerm::default();
        assert!(!term.is_sole(Timestamp(0)));
        term.begin(3, Some(Timestamp(100)));
        assert!(term.is_sole(Timestamp(99)) && !term.is_sole(Timestamp(100)));
        term.prolong(3, Timestamp(200));
        assert!(term.is_sole(Timestamp(199)));
        assert!(!term.end(2) && term.is_sole(Timestamp(199)), "another term's end");
        assert!(term.runs(3) && !term.runs(2));
        assert!(term.end(3));
        assert!(!term.runs(3));
        term.prolong(3, Timestamp(300));
        assert!(!term.is_sole(Timestamp(250)));
        term.begin(4, None);
        assert!(term.is_sole(Timestamp(i64::MAX - 1)));
    }
}
