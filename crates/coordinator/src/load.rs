//! From the store to an engine to be.

use crate::shared::Shared;
use muster_engine::Restoring;
use muster_store::{Loaded, StoreError};

/// What was read of a store before a term began there.
pub(crate) struct Ahead {
    pub(crate) restoring: Restoring,
    /// How many commits that state has seen.
    pub(crate) commits: u64,
}

/// Reads everything that is live. Who may call is known from then on, but nobody is answered by it before the term
/// begins.
pub(crate) fn load<T>(
    shared: &Shared,
    read: impl FnOnce(&mut dyn FnMut(Loaded)) -> Result<T, StoreError>,
) -> Result<(Restoring, T), StoreError> {
    shared.forget();
    let mut engine = Restoring::new(shared.options.settings);
    let done = read(&mut |loaded| match loaded {
        Loaded::Worker(record) => engine.worker(record),
        Loaded::Lane(record) => engine.lane(record),
        Loaded::Job(record) => engine.job(record),
        Loaded::Task(record) => engine.task(record),
        Loaded::Share(record) => engine.share(record),
        Loaded::Stop(worker, task) => engine.stop(&worker, task),
        Loaded::Secrets(worker, secrets) => {
            shared.secrets.set(&worker, &secrets);
            engine.secrets(&worker, secrets);
        }
        Loaded::JobSeq(seq) => engine.job_seq(seq),
        Loaded::Frames(record) => {
            shared.tokens.follow(&record);
            engine.frames(record);
        }
        Loaded::SessionSeq(seq) => engine.session_seq(seq),
        Loaded::Accounts(record) => {
            shared.accounts.follow(&record);
            engine.accounts(record);
        }
        Loaded::Pool(record) => {
            shared.pool.follow(&record);
            engine.pool(record);
        }
        Loaded::Schedule(record) => engine.schedule(*record),
    })?;
    Ok((engine, done))
}
