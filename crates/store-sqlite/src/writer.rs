//! The writing end of a term: each batch is one transaction.

mod accounts;
mod frames;
mod pool;

use crate::{
    fault::Fault,
    load,
    prune::{Walk, prune},
    rows::{
        alert, feed, job, key, lane, log, pool_worker, report, schedule, secret, share, stop, task, worker,
        worker_log,
    },
    store::Shared,
};
use muster_model::{Change, JobRecord, LaneRecord, LogRecord, ReportRecord, TaskRecord, WorkerRecord};
use muster_store::{Batch, Cutoffs, Loaded, StoreError, Writer, continue_feed};
use rusqlite::{Connection, Transaction, TransactionBehavior};
use std::sync::Arc;

/// The right to write, until a newer term begins.
pub(crate) struct SqliteWriter {
    shared: Arc<Shared>,
    epoch: i64,
    feed_seq: u64,
    /// What a batch is dated with that does not say when it happened.
    moment: i64,
    walk: Walk,
}

impl SqliteWriter {
    pub(crate) fn new(shared: Arc<Shared>, epoch: i64, (feed_seq, moment): (u64, i64)) -> Self {
        Self { shared, epoch, feed_seq, moment, walk: Walk::default() }
    }

    fn try_commit(&mut self, batch: &Batch) -> Result<(), Fault> {
        let mut connection = self.shared.writer();
        let transaction = begin(&mut connection, self.epoch)?;
        let feed_seq = continue_feed(self.feed_seq, &batch.feed)?;
        let moment = batch.moment().map_or(self.moment, |at| at.0);
        write(&transaction, batch, moment)?;
        transaction.commit()?;
        (self.feed_seq, self.moment) = (feed_seq, moment);
        Ok(())
    }

    fn try_prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, Fault> {
        let mut connection = self.shared.writer();
        let transaction = begin(&mut connection, self.epoch)?;
        let more = prune(&transaction, cutoffs, &mut self.walk)?;
        transaction.commit()?;
        Ok(more)
    }
}

impl Writer for SqliteWriter {
    fn load(&mut self, sink: &mut dyn FnMut(Loaded)) -> Result<(), StoreError> {
        load::load(&mut self.shared.writer(), sink).map_err(StoreError::from)
    }

    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError> {
        self.try_commit(batch).map_err(StoreError::from)
    }

    fn prune(&mut self, cutoffs: &Cutoffs) -> Result<bool, StoreError> {
        self.try_prune(cutoffs).map_err(StoreError::from)
    }
}

/// Begins a transaction that no newer term can overtake: the epoch is read under the write lock.
fn begin(connection: &mut Connection, epoch: i64) -> Result<Transaction<'_>, Fault> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let current: i64 = transaction
        .prepare_cached("SELECT value FROM meta WHERE key = 'epoch'")?
        .query_row([], |row| row.get(0))?;
    if current == epoch { Ok(transaction) } else { Err(StoreError::Superseded.into()) }
}

fn write(connection: &Connection, batch: &Batch, moment: i64) -> Result<(), Fault> {
    let mut sorted = Sorted::default();
    for change in &batch.changes {
        sorted.take(connection, change)?;
    }
    task::write(connection, sorted.tasks)?;
    log::write(connection, &sorted.logs)?;
    report::write(connection, &sorted.reports)?;
    job::write(connection, sorted.jobs)?;
    lane::write(connection, sorted.lanes)?;
    worker::write(connection, sorted.workers)?;
    sorted.frames.write(connection)?;
    sorted.pool.write(connection)?;
    worker::write_sightings(connection, &batch.sightings)?;
    pool_worker::write_sightings(connection, &batch.pool_sightings)?;
    feed::write(connection, &batch.feed, moment)
}

/// The changes of a batch by table. No row refers to another, so the order between tables is free.
#[derive(Default)]
struct Sorted<'a> {
    tasks: Vec<&'a TaskRecord>,
    logs: Vec<&'a LogRecord>,
    reports: Vec<&'a ReportRecord>,
    jobs: Vec<&'a JobRecord>,
    lanes: Vec<&'a LaneRecord>,
    workers: Vec<&'a WorkerRecord>,
    frames: frames::Sorted<'a>,
    pool: pool::Sorted<'a>,
}

impl<'a> Sorted<'a> {
    /// Puts a change with its like; writes it at once where there are never many.
    fn take(&mut self, connection: &Connection, change: &'a Change) -> Result<(), Fault> {
        match change {
            Change::Task(record) => self.tasks.push(record),
            Change::Log(record) => self.logs.push(record),
            Change::Report(record) => self.reports.push(record),
            Change::Job(record) => self.jobs.push(record),
            Change::Lane(record) => self.lanes.push(record),
            Change::Worker(record) => self.workers.push(record),
            Change::Share(record) => share::write(connection, record)?,
            Change::ShareGone { worker, job } => share::delete(connection, worker, *job)?,
            Change::Stop { worker, task, gone: false } => stop::write(connection, worker, *task)?,
            Change::Stop { worker, task, gone: true } => stop::delete(connection, worker, *task)?,
            Change::Secrets(worker, secrets) => secret::write(connection, worker, secrets)?,
            Change::WorkerLog(record) => worker_log::write(connection, record)?,
            Change::Key(record) => key::write(connection, record)?,
            Change::Alert(record) => alert::write(connection, record)?,
            Change::Frames(change) => self.frames.take(connection, change)?,
            Change::Pool(change) => self.pool.take(connection, change)?,
            Change::Accounts(change) => accounts::write(connection, change)?,
            Change::Schedule(record) => schedule::write(connection, record)?,
            Change::ScheduleGone(id) => schedule::delete(connection, *id)?,
        }
        Ok(())
    }
}
