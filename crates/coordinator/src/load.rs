//! Loads the engine's state from the store.

use crate::shared::Shared;
use muster_engine::Restoring;
use muster_store::{Loaded, StoreError};
use std::{
    mem,
    panic::resume_unwind,
    sync::mpsc::{SyncSender, sync_channel},
    thread,
};

/// State of a store, read before a term began there.
pub(crate) struct Preloaded {
    pub(crate) restoring: Restoring,
    /// Number of commits in that state.
    pub(crate) commits: u64,
}

/// Reads everything that is live. Who may call is known from then on, but nobody is answered by it before the term
/// begins.
///
/// One thread reads, another takes in what was read: with a million tasks a takeover waits for little else.
pub(crate) fn load<T: Send>(
    shared: &Shared,
    read: impl FnOnce(&mut dyn FnMut(Loaded)) -> Result<T, StoreError> + Send,
) -> Result<(Restoring, T), StoreError> {
    shared.forget();
    let mut engine = Restoring::new(shared.options.settings);
    thread::scope(|scope| {
        let (sender, receiver) = sync_channel(BATCHES_AHEAD);
        let reading = scope.spawn(move || {
            let mut batches = Batches { rows: Vec::with_capacity(ROWS), sender };
            let done = read(&mut |loaded| batches.push(loaded));
            batches.send();
            done
        });
        receiver.into_iter().flatten().for_each(|loaded| take_in(loaded, shared, &mut engine));
        let done = reading.join().unwrap_or_else(|panic| resume_unwind(panic))?;
        Ok((engine, done))
    })
}

/// Rows on their way from one thread to the other, many at a time.
struct Batches {
    rows: Vec<Loaded>,
    sender: SyncSender<Vec<Loaded>>,
}

impl Batches {
    fn push(&mut self, row: Loaded) {
        self.rows.push(row);
        if self.rows.len() == ROWS {
            self.send();
        }
    }

    fn send(&mut self) {
        let rows = mem::replace(&mut self.rows, Vec::with_capacity(ROWS));
        // Should nobody take it in, that thread has panicked, and this one ends with it.
        let _ = self.sender.send(rows);
    }
}

/// Takes in a row; who may call is kept beside the engine.
fn take_in(loaded: Loaded, shared: &Shared, engine: &mut Restoring) {
    match &loaded {
        Loaded::Secrets(worker, secrets) => shared.secrets.set(worker, secrets),
        Loaded::Frames(record) => shared.tokens.follow(record),
        Loaded::Accounts(record) => shared.accounts.follow(record),
        Loaded::Pool(record) => shared.pool.follow(record),
        _ => {}
    }
    hand_over(loaded, engine);
}

/// Hands a row that a store had over to the engine to be.
pub fn hand_over(loaded: Loaded, engine: &mut Restoring) {
    match loaded {
        Loaded::Worker(record) => engine.worker(record),
        Loaded::Lane(record) => engine.lane(record),
        Loaded::Job(record) => engine.job(record),
        Loaded::Task(record) => engine.task(record),
        Loaded::Share(record) => engine.share(record),
        Loaded::Stop(worker, task) => engine.stop(&worker, task),
        Loaded::Secrets(worker, secrets) => engine.secrets(&worker, secrets),
        Loaded::JobSeq(seq) => engine.job_seq(seq),
        Loaded::NewestReport(id) => engine.newest_report(id),
        Loaded::Frames(record) => engine.frames(record),
        Loaded::SessionSeq(seq) => engine.session_seq(seq),
        Loaded::Accounts(record) => engine.accounts(record),
        Loaded::Pool(record) => engine.pool(record),
        Loaded::Schedule(record) => engine.schedule(*record),
    }
}

/// As many as keep both threads from waiting for each other.
const ROWS: usize = 512;

const BATCHES_AHEAD: usize = 16;
