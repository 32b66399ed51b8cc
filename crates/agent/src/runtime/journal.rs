//! The spool on a thread of its own: many appends, one sync (N19).

use super::Happened;
use crate::core::Answer;
use muster_spool::{Directory, Limits, Recovered, Seq, Spool, SpoolError};
use std::{
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::mpsc::UnboundedSender;

/// Hands orders to the thread that owns the spool.
pub(super) struct Journal {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
    /// The last number that was given before this life.
    pub(super) last: u64,
}

enum Order {
    Append(u64, Vec<u8>),
    Ack(u64),
    SetAside(u64, String),
    Read(u64),
    Snapshot(Vec<u8>),
}

/// Opens the spool in a directory.
pub(super) fn open(path: &Path, segment_bytes: u64) -> Result<(Spool<Directory>, Recovered), SpoolError> {
    Spool::open(Directory::open(path)?, Limits { segment_bytes, ..Limits::default() })
}

impl Journal {
    pub(super) fn start(
        mut spool: Spool<Directory>,
        tell: UnboundedSender<Happened>,
    ) -> Result<Self, SpoolError> {
        let last = spool.sync()?.0;
        let (orders, taken) = channel();
        let thread = std::thread::Builder::new().name("spool".into());
        let write = move || {
            Scribe { spool: &mut spool, tell, is_failing: false, in_reserve: false, told: Seq(last) }
                .write(&taken)
        };
        let thread = thread.spawn(write).expect("a thread can be started");
        Ok(Self { orders, thread, last })
    }

    pub(super) fn append(&self, number: u64, body: Vec<u8>) {
        self.order(Order::Append(number, body));
    }

    pub(super) fn ack(&self, number: u64) {
        self.order(Order::Ack(number));
    }

    pub(super) fn set_aside(&self, number: u64, note: String) {
        self.order(Order::SetAside(number, note));
    }

    pub(super) fn read(&self, number: u64) {
        self.order(Order::Read(number));
    }

    /// Begins a new segment with the state that everything ordered so far has led to.
    pub(super) fn snapshot(&self, state: Vec<u8>) {
        self.order(Order::Snapshot(state));
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

struct Scribe<'a> {
    spool: &'a mut Spool<Directory>,
    tell: UnboundedSender<Happened>,
    is_failing: bool,
    /// The segment is full and no new one could be begun: what is written now takes the room that was reserved.
    in_reserve: bool,
    told: Seq,
}

impl Scribe<'_> {
    /// Carries out orders until nobody gives any more: all that wait, then one sync.
    fn write(mut self, orders: &Receiver<Order>) {
        loop {
            let pause = if self.is_failing || self.in_reserve { RETRY } else { IDLE };
            match orders.recv_timeout(pause) {
                Ok(order) => {
                    self.obey(order);
                    while let Ok(order) = orders.try_recv() {
                        self.obey(order);
                    }
                    if self.spool.needs_sync() {
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
            Order::Append(number, body) => match self.spool.append(&body) {
                Ok(seq) => assert_eq!(seq, Seq(number), "the core and the spool count alike"),
                Err(error) => self.failed(error),
            },
            Order::Ack(number) => self.spool.ack(Seq(number)),
            Order::SetAside(number, note) => self.spool.set_aside(Seq(number), note.as_bytes()),
            Order::Read(number) => match self.spool.read(Seq(number)) {
                Ok(Some(body)) => self.say(Happened::Read(number, body)),
                // Not sent, then; it is tried again like any that found nobody.
                Ok(None) => self.say(Happened::Sent(number, Answer::None)),
                Err(error) => {
                    self.say(Happened::Sent(number, Answer::None));
                    self.failed(error);
                }
            },
            Order::Snapshot(state) => self.snapshot(&state),
        }
    }

    fn snapshot(&mut self, state: &[u8]) {
        match self.spool.snapshot(state) {
            Ok(()) => {
                // Whoever was told that there is no room is told that there is.
                self.is_failing |= std::mem::take(&mut self.in_reserve);
                // It has synced what came before it; that too is still to be told.
                self.sync();
            }
            Err(error) => {
                self.in_reserve = self.spool.wants_snapshot();
                self.failed(error);
            }
        }
    }

    fn sync(&mut self) {
        match self.spool.sync() {
            Ok(last) => {
                if last > self.told || self.is_failing {
                    self.say(Happened::Durable { up_to: last.0, in_reserve: self.in_reserve });
                }
                (self.told, self.is_failing) = (last, false);
                if self.spool.wants_snapshot() {
                    self.say(Happened::SegmentFull);
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
        // Nobody listens any more when the agent is leaving.
        let _ = self.tell.send(happened);
    }
}

/// How soon a failed sync is tried again.
const RETRY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(2);
