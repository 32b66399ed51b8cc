//! From the store to an engine, as the driver does it.

use crate::{checker::Broken, planted::Planted};
use muster_engine::{Engine, Restoring};
use muster_model::{Settings, Timestamp};
use muster_store::{Loaded, StoreError, Writer};

/// The engine that a new life begins with: what the driver builds from what the store kept.
pub(super) fn load(
    writer: &mut dyn Writer,
    (settings, planted): (Settings, Option<Planted>),
    (now, epoch): (Timestamp, u64),
) -> Result<Engine, Broken> {
    let mut engine = Restoring::new(settings);
    plant(&mut engine, planted);
    writer
        .load(&mut |loaded| match loaded {
            Loaded::Worker(record) => engine.worker(record),
            Loaded::Lane(record) => engine.lane(record),
            Loaded::Job(record) => engine.job(record),
            Loaded::Task(record) => engine.task(record),
            Loaded::Share(record) => engine.share(record),
            Loaded::Stop(worker, task) => engine.stop(&worker, task),
            Loaded::Secrets(worker, secrets) => engine.secrets(&worker, secrets),
            Loaded::JobSeq(seq) => engine.job_seq(seq),
            Loaded::Frames(record) => engine.frames(record),
            Loaded::SessionSeq(seq) => engine.session_seq(seq),
            Loaded::Accounts(record) => engine.accounts(record),
            Loaded::Pool(record) => engine.pool(record),
            Loaded::Schedule(record) => engine.schedule(*record),
        })
        .map_err(store_broke)?;
    Ok(engine.finish(epoch, now))
}

#[cfg(feature = "mutants")]
fn plant(engine: &mut Restoring, planted: Option<Planted>) {
    if let Some(Planted::Engine(mutant)) = planted {
        engine.plant(mutant);
    }
}

#[cfg(not(feature = "mutants"))]
fn plant(_: &mut Restoring, _: Option<Planted>) {}

/// A store that fails without having been told to is broken.
pub(super) fn store_broke(error: StoreError) -> Broken {
    Broken::new("store", error.to_string())
}
