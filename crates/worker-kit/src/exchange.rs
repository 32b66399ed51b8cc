//! The event loop of a worker: calls and programs run beside it, and their results come back as events.

use muster_model::Timestamp;
use std::{collections::HashMap, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

/// The queue of events of a worker, and the work whose end it waits for.
#[derive(Debug)]
pub struct Exchange<E> {
    sender: mpsc::UnboundedSender<E>,
    receiver: mpsc::UnboundedReceiver<E>,
    running: HashMap<u64, CancellationToken>,
}

impl<E: Send + 'static> Exchange<E> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver, running: HashMap::new() }
    }

    /// Returns a function that adds events. Events are dropped once the worker has ended.
    pub fn reporter(&self) -> impl Fn(E) + Clone + Send + Sync + 'static {
        let sender = self.sender.clone();
        move |event| {
            let _ = sender.send(event);
        }
    }

    /// Runs a future beside the worker; its output becomes an event.
    pub fn spawn(&self, future: impl Future<Output = E> + Send + 'static) -> AbortHandle {
        let report = self.reporter();
        tokio::spawn(async move { report(future.await) }).abort_handle()
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> E {
        self.receiver.recv().await.expect("the exchange holds a sender itself")
    }

    /// Returns the next event if one has arrived.
    pub fn try_next(&mut self) -> Option<E> {
        self.receiver.try_recv().ok()
    }

    /// Registers work that begins now; the token ends it.
    pub fn begin(&mut self, work: u64) -> CancellationToken {
        let cancel = CancellationToken::new();
        self.running.insert(work, cancel.clone());
        cancel
    }

    /// Asks work to end; does nothing if it has ended.
    pub fn kill(&self, work: u64) {
        if let Some(cancel) = self.running.get(&work) {
            cancel.cancel();
        }
    }

    /// Removes work that has ended.
    pub fn ended(&mut self, work: u64) {
        self.running.remove(&work);
    }
}

impl<E: Send + 'static> Default for Exchange<E> {
    fn default() -> Self {
        Self::new()
    }
}

/// Publishes a report unless it equals the last one.
pub fn publish<R: PartialEq>(reports: &watch::Sender<R>, report: R) {
    reports.send_if_modified(|shown| {
        let is_news = *shown != report;
        *shown = report;
        is_news
    });
}

/// The time until a deadline; a minute if there is none.
#[must_use]
pub fn pause_until(deadline: Option<Timestamp>, now: Timestamp) -> Duration {
    deadline.map_or(IDLE, |deadline| Duration::from_millis(u64::try_from((deadline - now).0).unwrap_or(0)))
}

/// Sleep of a worker while everything depends on others.
const IDLE: Duration = Duration::from_secs(60);
