//! The spool on a thread of its own: many appends share one sync (N19, P16).
//!
//! The owner gives orders and never waits for the disk. A callback reports what became of them.

use muster_spool::{Directory, Limits, Recovered, Seq, Spool, SpoolError};
use std::{
    path::Path,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread::JoinHandle,
    time::Duration,
};
use tokio::sync::oneshot;

/// Sends orders to the thread that owns the spool.
#[derive(Debug)]
pub struct Journal {
    orders: Sender<Order>,
    thread: JoinHandle<()>,
    /// The number of the last entry.
    last: u64,
}

/// Something that the owner of a journal must know.
#[derive(Debug)]
pub enum JournalEvent {
    /// Every entry up to this number is on disk. After a failure this also means that the spool can be written again.
    Durable {
        /// The number of the last entry on disk.
        up_to: u64,
        /// The segment is full and no new one could be begun: entries take up the reserved space.
        in_reserve: bool,
    },
    /// The spool cannot be written. The journal tries again every second.
    Failed(SpoolError),
    /// The segment is full, and the owner should begin a new one with [`Journal::snapshot`]. Repeated until it does.
    SegmentFull,
    /// The body of an entry; nothing if the entry is gone or cannot be read.
    Read(u64, Option<Vec<u8>>),
}

/// The state that a new segment begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentState {
    /// The owner supplies it with [`Journal::snapshot`] when a segment is full.
    FromOwner,
    /// There is none: the entries say everything, and the journal begins new segments by itself.
    Empty,
}

#[derive(Debug)]
enum Order {
    Append(u64, Vec<u8>),
    Ack(u64),
    SetAside(u64, String),
    Read(u64),
    Snapshot(Vec<u8>),
    Flush(oneshot::Sender<()>),
}

impl Journal {
    /// Opens the spool in a directory.
    ///
    /// # Errors
    /// The spool is in use, damaged or of another version.
    pub fn open(path: &Path, limits: Limits) -> Result<(Spool<Directory>, Recovered), SpoolError> {
        let (spool, recovered) = Spool::open(lock(path)?, limits)?;
        if let Some(cut) = &recovered.cut {
            tracing::warn!(file = cut.file, bytes = cut.bytes, "cut a torn end off the spool");
        }
        Ok((spool, recovered))
    }

    /// Starts the thread.
    ///
    /// # Errors
    /// The spool cannot be written.
    pub fn start(
        mut spool: Spool<Directory>,
        state: SegmentState,
        report: impl Fn(JournalEvent) + Send + 'static,
    ) -> Result<Self, SpoolError> {
        let last = spool.sync()?;
        let (orders, received) = channel();
        let thread = std::thread::Builder::new().name("spool".into());
        let write = move || Writer::new(spool, state, report, last).run(&received);
        let thread = thread.spawn(write).expect("a thread can be started");
        Ok(Self { orders, thread, last: last.0 })
    }

    /// The number of the last entry.
    #[must_use]
    pub const fn last(&self) -> u64 {
        self.last
    }

    /// Appends an entry and returns its number. [`JournalEvent::Durable`] reports that it is on disk.
    pub fn append(&mut self, body: Vec<u8>) -> u64 {
        self.last += 1;
        self.order(Order::Append(self.last, body));
        self.last
    }

    /// Marks an entry as no longer needed.
    pub fn ack(&self, number: u64) {
        self.order(Order::Ack(number));
    }

    /// Moves an entry to the log for people, with a note.
    pub fn set_aside(&self, number: u64, note: String) {
        self.order(Order::SetAside(number, note));
    }

    /// Reads an entry; [`JournalEvent::Read`] brings it.
    pub fn read(&self, number: u64) {
        self.order(Order::Read(number));
    }

    /// Begins a new segment with the state that results from everything ordered so far.
    pub fn snapshot(&self, state: Vec<u8>) {
        self.order(Order::Snapshot(state));
    }

    /// Becomes ready when everything ordered so far is on disk, acks included.
    #[must_use]
    pub fn flush(&self) -> oneshot::Receiver<()> {
        let (done, flushed) = oneshot::channel();
        self.order(Order::Flush(done));
        flushed
    }

    /// Writes what is left and releases the directory.
    pub async fn close(self) {
        drop(self.orders);
        let _ = tokio::task::spawn_blocking(move || self.thread.join()).await;
    }

    fn order(&self, order: Order) {
        self.orders.send(order).expect("the spool's thread lives as long as its orders");
    }
}

/// Locks the directory of a spool.
///
/// A process that was killed while it started a program leaves a copy of the lock in the child until that becomes the
/// program. So a lock that is taken is tried again for a second.
fn lock(path: &Path) -> Result<Directory, SpoolError> {
    for _ in 0..LOCK_TRIES {
        match Directory::open(path) {
            Err(SpoolError::InUse { .. }) => std::thread::sleep(LOCK_DELAY),
            opened => return opened,
        }
    }
    Directory::open(path)
}

const LOCK_TRIES: u32 = 20;
const LOCK_DELAY: Duration = Duration::from_millis(50);

struct Writer<F> {
    spool: Spool<Directory>,
    state: SegmentState,
    report: F,
    is_failing: bool,
    /// The segment is full and no new one could be begun: entries take up the reserved space.
    in_reserve: bool,
    /// The last entry that was reported as durable.
    reported: Seq,
    flushes: Vec<oneshot::Sender<()>>,
}

impl<F: Fn(JournalEvent)> Writer<F> {
    const fn new(spool: Spool<Directory>, state: SegmentState, report: F, reported: Seq) -> Self {
        Self { spool, state, report, is_failing: false, in_reserve: false, reported, flushes: Vec::new() }
    }

    /// Executes orders until the journal is closed: all that wait, then one sync.
    fn run(mut self, orders: &Receiver<Order>) {
        loop {
            let pause = if self.is_failing || self.in_reserve { RETRY } else { IDLE };
            match orders.recv_timeout(pause) {
                Ok(order) => {
                    self.execute(order);
                    while let Ok(order) = orders.try_recv() {
                        self.execute(order);
                    }
                    if self.spool.needs_sync() || !self.flushes.is_empty() {
                        self.sync();
                    }
                }
                // Acks wait for the next sync; without one for a while they get their own.
                Err(RecvTimeoutError::Timeout) => self.sync(),
                Err(RecvTimeoutError::Disconnected) => return self.sync(),
            }
        }
    }

    fn execute(&mut self, order: Order) {
        match order {
            Order::Append(number, body) => match self.spool.append(&body) {
                Ok(seq) => assert_eq!(seq, Seq(number), "the journal and the spool count alike"),
                Err(error) => self.failed(error),
            },
            Order::Ack(number) => self.spool.ack(Seq(number)),
            Order::SetAside(number, note) => self.spool.set_aside(Seq(number), note.as_bytes()),
            Order::Read(number) => match self.spool.read(Seq(number)) {
                Ok(body) => (self.report)(JournalEvent::Read(number, body)),
                Err(error) => {
                    (self.report)(JournalEvent::Read(number, None));
                    self.failed(error);
                }
            },
            Order::Snapshot(state) => self.snapshot(&state),
            Order::Flush(done) => self.flushes.push(done),
        }
    }

    fn snapshot(&mut self, state: &[u8]) {
        match self.spool.snapshot(state) {
            Ok(()) => {
                // An owner that heard of the full segment must hear that there is room again.
                self.is_failing |= std::mem::take(&mut self.in_reserve);
                // The snapshot synced what came before it, which is not reported yet.
                self.sync();
            }
            Err(error) => {
                self.in_reserve = self.spool.wants_snapshot();
                self.failed(error);
            }
        }
    }

    fn sync(&mut self) {
        let last = match self.spool.sync() {
            Ok(last) => last,
            Err(error) => return self.failed(error),
        };
        if last > self.reported || self.is_failing {
            (self.report)(JournalEvent::Durable { up_to: last.0, in_reserve: self.in_reserve });
        }
        (self.reported, self.is_failing) = (last, false);
        match (self.spool.wants_snapshot(), self.state) {
            (true, SegmentState::FromOwner) => (self.report)(JournalEvent::SegmentFull),
            (true, SegmentState::Empty) => self.begin_segment(last),
            (false, _) => {}
        }
        if !self.is_failing {
            for done in self.flushes.drain(..) {
                let _ = done.send(());
            }
        }
    }

    fn begin_segment(&mut self, last: Seq) {
        match self.spool.snapshot(NO_STATE) {
            Ok(()) if std::mem::take(&mut self.in_reserve) => {
                (self.report)(JournalEvent::Durable { up_to: last.0, in_reserve: false });
            }
            Ok(()) => {}
            Err(error) => {
                self.in_reserve = self.spool.wants_snapshot();
                self.failed(error);
            }
        }
    }

    fn failed(&mut self, error: SpoolError) {
        self.is_failing = true;
        (self.report)(JournalEvent::Failed(error));
    }
}

const NO_STATE: &[u8] = b"";
/// Pause before a failed write is tried again.
const RETRY: Duration = Duration::from_secs(1);
const IDLE: Duration = Duration::from_secs(2);
