//! Starting and stopping a coordinator, and its options.

use crate::{
    Clock, Coordinator, Effects, Feed, LeaseTimes, SystemClock,
    driver::{self, AbortOnPanic, Message, SoleServer, TermSource},
    follow::Follower,
    shared::{DueEffect, Setup, Shared},
};
use muster_model::{Millis, Settings};
use muster_store::{Candidate, Store, StoreError};
use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};
use tokio::sync::{Semaphore, mpsc as channel};

impl Coordinator {
    /// Begins a term on a store that belongs to this process and serves it, on threads of its own, by the system's
    /// clock.
    ///
    /// # Errors
    /// When the store cannot be opened for writing.
    pub fn start(store: Arc<dyn Store>, options: Options) -> Result<Self, StoreError> {
        Self::start_with_clock(store, options, Arc::new(SystemClock::start()))
    }

    /// As [`Self::start`], by another clock.
    ///
    /// # Errors
    /// When the store cannot be opened for writing.
    pub fn start_with_clock(
        store: Arc<dyn Store>,
        options: Options,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        Self::lead_alone(store, options, None, clock)
    }

    /// Joins the servers that share a store: follows whoever leads, and leads when it is this one's turn (S18). On a
    /// store that belongs to one process it leads.
    ///
    /// # Errors
    /// When its threads cannot be started, or a store of one process cannot be opened for writing.
    pub fn join(store: Arc<dyn Store>, options: Options, candidate: Candidate) -> Result<Self, StoreError> {
        Self::join_with_clock(store, options, candidate, Arc::new(SystemClock::start()))
    }

    /// As [`Self::join`], by another clock.
    ///
    /// # Errors
    /// As [`Self::join`].
    pub fn join_with_clock(
        store: Arc<dyn Store>,
        options: Options,
        candidate: Candidate,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let address = Some(candidate.address.clone());
        let Some(election) = store.election() else {
            return Self::lead_alone(store, options, address, clock);
        };
        let feed = Feed::new(store.reader(), None);
        let seat = Follower::new(election, candidate, options.lease);
        let setup = Setup { options, address, has_others: true };
        Self::launch(Box::new(seat), &*store, |effects| Shared::new(setup, clock, feed, effects))
    }

    /// Stops: whoever waits is answered, what was decided is made durable, leadership is given back, nothing more is
    /// taken.
    pub async fn stop(&self) {
        self.places.close();
        self.shared.feed.close();
        // A driver that is gone has stopped already.
        let _ = self.shared.inbox.send_urgent(Message::Stop);
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            let _ = tokio::task::spawn_blocking(move || thread.join()).await;
        }
    }

    /// Leads a store that belongs to this process.
    fn lead_alone(
        store: Arc<dyn Store>,
        options: Options,
        address: Option<String>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, StoreError> {
        let first = store.begin_term()?;
        let feed = Feed::new(store.reader(), Some(first.feed_seq));
        let seat = SoleServer::new(Arc::clone(&store), first);
        let setup = Setup { options, address, has_others: false };
        Self::launch(Box::new(seat), &*store, |effects| Shared::new(setup, clock, feed, effects))
    }

    fn launch(
        mut seat: Box<dyn TermSource>,
        store: &dyn Store,
        share: impl FnOnce(channel::UnboundedSender<DueEffect>) -> Shared,
    ) -> Result<Self, StoreError> {
        let (effects, due) = channel::unbounded_channel();
        let shared = Arc::new(share(effects));
        let driven = Arc::clone(&shared);
        let run = move || {
            let _abort = AbortOnPanic;
            driver::run(&mut *seat, &driven);
        };
        let thread = thread::Builder::new().name("muster-driver".into()).spawn(run);
        let thread = thread.map_err(|error| StoreError::Backend(error.to_string()))?;
        let places = Arc::new(Semaphore::new(shared.options.queue_length));
        let effects = Effects::new(due, Arc::clone(&shared));
        let (thread, effects) = (Arc::new(Mutex::new(Some(thread))), Arc::new(Mutex::new(Some(effects))));
        Ok(Self { shared, reader: store.reader(), places, thread, effects })
    }
}

/// Options of a coordinator.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Settings of the rules.
    pub settings: Settings,
    /// Requests that may wait for a decision or a commit before others are refused.
    pub queue_length: usize,
    /// Retention of ended work.
    pub history: Millis,
    /// Leadership timeouts, for servers that share a store (S18).
    pub lease: LeaseTimes,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            queue_length: 8192,
            history: Millis::from_secs(30 * 86_400),
            lease: LeaseTimes::default(),
        }
    }
}
