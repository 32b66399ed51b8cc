//! The driver of the write path: term after term; requests in between are refused.

use crate::clock::instant_now;
use crate::{
    backoff::{RETRY_TERM_AFTER, RETRY_TERM_MAX, TermBackoff},
    delivery::Delivered,
    inbox::Wait,
    load::Preloaded,
    renewal::LeaderLease,
    shared::Shared,
    term::{End, TermRun},
    write_path::Request,
};
use muster_model::{
    Explanation, FrameQuery, FrameView, Name, PoolStatus, Scope, Strangers, Subject, TaskId, TaskRecord,
    WorkerSupply,
};
use muster_store::{Store, StoreError, Term};
use std::{sync::Arc, thread, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::error;

/// A way to answer one request, and the place it takes in the queue until it is answered or parked.
pub(crate) struct Handle {
    pub(crate) reply: oneshot::Sender<Delivered>,
    pub(crate) place: Option<OwnedSemaphorePermit>,
}

/// Messages to the driver.
pub(crate) enum Message {
    Request(Box<Request<Handle>>),
    Explain(Subject, oneshot::Sender<Option<Explanation>>),
    Strangers(Scope, oneshot::Sender<Strangers>),
    Supplies(Vec<Name>, oneshot::Sender<Vec<WorkerSupply>>),
    Task(TaskId, oneshot::Sender<Option<TaskRecord>>),
    Frames(FrameQuery, oneshot::Sender<FrameView>),
    PoolStatus(oneshot::Sender<PoolStatus>),
    /// With the epoch, so that a word from an earlier term is not taken for one of this.
    Committed(u64, Result<(), StoreError>),
    Pruned(u64, Result<bool, StoreError>),
    /// The lease of a term is somebody else's, or could not be prolonged.
    Deposed(u64, StoreError),
    Stop,
}

/// A term to serve.
pub(crate) struct BegunTerm {
    pub(crate) term: Term,
    /// Election in which life must be shown for it; `None`: nobody shares the store.
    pub(crate) office: Option<LeaderLease>,
    /// State that was read before it began.
    pub(crate) ahead: Option<Preloaded>,
}

/// Source of the terms that a server serves.
pub(crate) trait TermSource: Send {
    /// Waits for a term to serve and refuses all requests meanwhile; `None` when told to stop.
    fn next_term(&mut self, shared: &Shared) -> Option<BegunTerm>;

    /// A term ended; whether anything was written in it, or could have been for a good while.
    fn leave(&mut self, epoch: u64, end: &End, was_of_use: bool);
}

/// The seat of whoever has a store alone: its term begins when it likes.
pub(crate) struct SoleServer {
    store: Arc<dyn Store>,
    first: Option<Term>,
    backoff: TermBackoff,
    /// Before the next term.
    pause: Duration,
}

/// Serves terms until told to stop; a term that fails is followed by another.
pub(crate) fn run(seat: &mut dyn TermSource, shared: &Arc<Shared>) {
    serve_terms(seat, shared);
    shared.inbox.close();
}

fn serve_terms(seat: &mut dyn TermSource, shared: &Arc<Shared>) {
    while let Some(taken) = seat.next_term(shared) {
        let epoch = taken.term.epoch;
        let (batches, begun) = (shared.stats.batches(), instant_now());
        let end = TermRun::begin(taken, shared).map_or_else(End::Failed, |mut run| run.serve());
        if let End::Failed(error) = &end {
            error!(epoch, %error, "the term ended; its memory is thrown away and read again");
            // Callers that see no leader can see the reason.
            shared.outage.ended_term(error);
        }
        shared.end_term(epoch);
        let was_of_use = shared.stats.batches() > batches || begun.elapsed() > RETRY_TERM_MAX;
        seat.leave(epoch, &end, was_of_use);
        if matches!(end, End::Stopped) {
            shared.feed.close();
            return;
        }
    }
}

/// Refuses requests for a while: their handles are dropped. True when told to stop.
pub(crate) fn refuse_for(pause: Duration, shared: &Shared) -> bool {
    let end = instant_now() + pause;
    loop {
        let left = end.saturating_duration_since(instant_now());
        let refused = shared.inbox.take(Wait::Any, left);
        if refused.iter().any(|message| matches!(message, Message::Stop)) {
            return true;
        }
        if refused.is_empty() && left.is_zero() {
            return false;
        }
    }
}

impl SoleServer {
    /// With the term that was begun to see whether one can be.
    pub(crate) fn new(store: Arc<dyn Store>, first: Term) -> Self {
        Self { store, first: Some(first), backoff: TermBackoff::default(), pause: RETRY_TERM_AFTER }
    }
}

impl TermSource for SoleServer {
    fn next_term(&mut self, shared: &Shared) -> Option<BegunTerm> {
        let mut next = self.first.take().map(Ok);
        loop {
            match next {
                Some(Ok(term)) => {
                    shared.outage.answered(shared.time.local());
                    return Some(BegunTerm { term, office: None, ahead: None });
                }
                Some(Err(error)) => shared.outage.failed(&error, shared.time.local()),
                None => {}
            }
            if refuse_for(self.pause, shared) {
                return None;
            }
            self.pause = RETRY_TERM_AFTER;
            next = Some(self.store.begin_term());
        }
    }

    fn leave(&mut self, _: u64, _: &End, was_of_use: bool) {
        self.pause = self.backoff.after(was_of_use);
    }
}

/// Ends the process when the thread that holds this panics.
///
/// A process without its driver would keep its port and answer nobody; one that is gone is started anew, or replaced by
/// another server.
pub(crate) struct AbortOnPanic;

impl Drop for AbortOnPanic {
    fn drop(&mut self) {
        if thread::panicking() {
            let name = thread::current().name().unwrap_or_default().to_owned();
            error!(thread = name, "a thread that nothing goes on without panicked; the process ends");
            std::process::abort();
        }
    }
}
