//! The spool on a thread of its own: many results, one sync (P16).

use super::Happened;
use muster_spool::{Directory, Seq, Spool, SpoolError};
use std::{
    collections::HashMap,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::{mpsc::UnboundedSender, oneshot};

/// Hands orders to the thread that owns the spool.
pub(super) struct Journal {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
}

enum Order {
    Append(u64, Vec<u8>),
    Ack(u64),
    SetAside(u64, String),
    Flush(oneshot::Sender<()>),
}

impl Journal {
    /// Starts the thread; `found` are the entries of an earlier life by their numbers.
    pub(super) fn start(
        spool: Spool<Directory>,
        found: HashMap<u64, Seq>,
        tell: UnboundedSender<Happened>,
    ) -> Self {
        let (orders, taken) = channel();
        let scribe =
            Scribe { spool, tell, seqs: found, unsynced: Vec::new(), flushes: Vec::new(), is_failing: false };
        let thread = std::thread::Builder::new().name("spool".into());
        let thread = thread.spawn(move || scribe.write(&taken)).expect("a thread can be started");
        Self { orders, thread }
    }

    /// Writes an entry down; that it is there for good is told.
    pub(super) fn append(&self, entry: u64, body: Vec<u8>) {
        self.order(Order::Append(entry, body));
    }

    pub(super) fn ack(&self, entry: u64) {
        self.order(Order::Ack(entry));
    }

    pub(super) fn set_aside(&self, entry: u64, why: String) {
        self.order(Order::SetAside(entry, why));
    }

    /// Becomes ready when everything so far is on disk, acks included.
    pub(super) fn flush(&self) -> oneshot::Receiver<()> {
        let (done, flushed) = oneshot::channel();
        self.order(Order::Flush(done));
        flushed
    }

    /// Writes down what is left and lets go of the directory.
    pub(super) async fn close(self) {
        drop(self.orders);
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }

    fn order(&self, order: Order) {
        self.orders.send(order).expect("the spool's thread lives as long as its orders");
    }
}

struct Scribe {
    spool: Spool<Directory>,
    tell: UnboundedSender<Happened>,
    /// Where entries are.
    seqs: HashMap<u64, Seq>,
    /// Entries that are not on disk yet.
    unsynced: Vec<u64>,
    flushes: Vec<oneshot::Sender<()>>,
    is_failing: bool,
}

impl Scribe {
    /// Carries out orders until nobody gives any more: all that wait, then one sync.
    fn write(mut self, orders: &Receiver<Order>) {
        loop {
            match orders.recv_timeout(if self.is_failing { RETRY } else { IDLE }) {
                Ok(order) => {
                    self.obey(order);
                    while let Ok(order) = orders.try_recv() {
                        self.obey(order);
                    }
                    if self.spool.needs_sync() || !self.flushes.is_empty() {
                        self.sync();
                    }
                }
                // Acks ride with the next sync; when there is none for a while they get one.
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => return self.sync(),
            }
        }
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::Append(entry, body) => match self.spool.append(&body) {
                Ok(seq) => {
                    self.seqs.insert(entry, seq);
                    self.unsynced.push(entry);
                }
                Err(error) => self.failed(error),
            },
            Order::Ack(entry) => {
                if let Some(seq) = self.seqs.remove(&entry) {
                    self.spool.ack(seq);
                }
            }
            Order::SetAside(entry, why) => {
                if let Some(seq) = self.seqs.remove(&entry) {
                    self.spool.set_aside(seq, why.as_bytes());
                }
            }
            Order::Flush(done) => self.flushes.push(done),
        }
    }

    fn sync(&mut self) {
        let synced = self.spool.sync().map(drop);
        if synced.is_ok() {
            for entry in std::mem::take(&mut self.unsynced) {
                self.say(Happened::Stored(entry));
            }
        }
        // A segment that is full and cannot be followed by another leaves no room for what is begun now.
        let begun = synced.and_then(|()| match self.spool.wants_snapshot() {
            true => self.spool.snapshot(NO_STATE),
            false => Ok(()),
        });
        match begun {
            Ok(()) => {
                for done in self.flushes.drain(..) {
                    let _ = done.send(());
                }
                if std::mem::take(&mut self.is_failing) {
                    self.say(Happened::SpoolMended);
                }
            }
            Err(error) => self.failed(error),
        }
    }

    fn failed(&mut self, error: SpoolError) {
        self.is_failing = true;
        self.say(Happened::SpoolFailed(error));
    }

    fn say(&self, happened: Happened) {
        // Nobody listens any more when the worker is leaving.
        let _ = self.tell.send(happened);
    }
}

/// All that must be known stands in the entries.
const NO_STATE: &[u8] = b"";
/// How soon a failed sync is tried again.
const RETRY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(2);
