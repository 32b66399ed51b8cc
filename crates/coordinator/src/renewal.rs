//! Shows life for as long as a term runs (S18).

use crate::{Lead, Lease, driver::Message, shared::Shared, vital::Vital};
use muster_model::Timestamp;
use muster_store::{Election, StoreError};
use std::{
    sync::{
        Arc,
        mpsc::{self, RecvTimeoutError},
    },
    thread,
    time::Duration,
};

/// Where a leader shows life, and its lease there.
pub(crate) struct Office {
    pub(crate) election: Arc<dyn Election>,
    pub(crate) lease: Lease,
}

/// The thread that shows life; dropping this ends it.
pub(crate) struct Renewing {
    _stop: mpsc::Sender<()>,
}

impl Renewing {
    pub(crate) fn start(office: Office, epoch: u64, shared: &Arc<Shared>) -> Result<Self, StoreError> {
        let (stop, stopped) = mpsc::channel();
        let mut renewal = Renewal { office, epoch, shared: Arc::clone(shared) };
        let run = move || {
            let _vital = Vital;
            renewal.run(&stopped);
        };
        let spawned = thread::Builder::new().name("muster-lease".into()).spawn(run);
        spawned.map_err(|error| StoreError::Backend(error.to_string()))?;
        Ok(Self { _stop: stop })
    }
}

struct Renewal {
    office: Office,
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
        self.shared.tenure.prolong(self.epoch, self.office.lease.sole_until());
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

    /// Nobody is answered from memory from here on, also while the driver is busy.
    fn depose(&self, error: StoreError) {
        self.shared.outage.ended_term(&error);
        if self.shared.tenure.end(self.epoch) {
            self.shared.lead.send_replace(Lead::Nowhere);
        }
        // A driver that is gone leads nothing.
        let _ = self.shared.inbox.send(Message::Deposed(self.epoch, error));
    }
}
