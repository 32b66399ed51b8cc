//! The event loop of a worker: calls and programs run beside it, and their results come back as events.

use muster_model::Timestamp;
use std::{collections::HashMap, time::Duration};
use tokio::{
    sync::{mpsc, watch},
    task::AbortHandle,
};
use tokio_util::sync::CancellationToken;

/// The queue of events of a worker `W`, and the work whose end it waits for.
#[derive(Debug)]
pub struct Exchange<W> {
    sender: mpsc::UnboundedSender<Event<W>>,
    receiver: mpsc::UnboundedReceiver<Event<W>>,
    running: HashMap<u64, CancellationToken>,
}

/// Something that happened beside a worker, as what the worker does about it.
pub type Event<W> = Box<dyn FnOnce(&mut W, Timestamp) + Send>;

impl<W: 'static> Exchange<W> {
    /// Creates an empty queue.
    #[must_use]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self { sender, receiver, running: HashMap::new() }
    }

    /// Returns a function that reports what happens; `handle` is what the worker does about it. Reports are dropped once
    /// the worker has ended.
    pub fn reporter<T: Send + 'static>(
        &self,
        handle: impl FnOnce(&mut W, T, Timestamp) + Clone + Send + Sync + 'static,
    ) -> impl Fn(T) + Clone + Send + Sync + 'static {
        let sender = self.sender.clone();
        move |happened| {
            let handle = handle.clone();
            let _ = sender.send(Box::new(move |worker, now| handle(worker, happened, now)));
        }
    }

    /// Runs a future beside the worker; `handle` is what the worker does about its output.
    pub fn spawn<T: Send + 'static>(
        &self,
        future: impl Future<Output = T> + Send + 'static,
        handle: impl FnOnce(&mut W, T, Timestamp) + Send + 'static,
    ) -> AbortHandle {
        let sender = self.sender.clone();
        let run = async move {
            let output = future.await;
            let _ = sender.send(Box::new(move |worker, now| handle(worker, output, now)));
        };
        tokio::spawn(run).abort_handle()
    }

    /// Waits for the next event.
    pub async fn next(&mut self) -> Event<W> {
        self.receiver.recv().await.expect("the exchange holds a sender itself")
    }

    /// Returns the next event if one has arrived.
    pub fn try_next(&mut self) -> Option<Event<W>> {
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

impl<W: 'static> Default for Exchange<W> {
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
