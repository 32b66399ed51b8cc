//! What a batch writes, table by table.

mod accounts;
mod frames;
mod pool;

use crate::{
    fault::Fault,
    rows::{
        alert, feed, job, key, lane, log, pool_worker, report, schedule, secret, share, stop, task, worker,
        worker_log,
    },
    sql::Sink,
};
use muster_model::{
    Change, JobRecord, KeyRecord, LaneRecord, LogRecord, ReportRecord, TaskRecord, WorkerRecord,
};
use muster_store::Batch;

/// Writes a batch; its entries of the feed are dated with `moment`.
///
/// # Errors
/// When the sink fails, or a number is larger than a column can hold.
pub fn write_batch(batch: &Batch, moment: i64, sink: &mut dyn Sink) -> Result<(), Fault> {
    let mut sorted = Sorted::default();
    for change in &batch.changes {
        sorted.take(sink, change)?;
    }
    sorted.write(sink)?;
    worker::write_sightings(sink, &batch.sightings)?;
    pool_worker::write_sightings(sink, &batch.pool_sightings)?;
    feed::write(sink, &batch.feed, moment)
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
    shares: Vec<share::Changed<'a>>,
    stops: Vec<stop::Changed<'a>>,
    keys: Vec<&'a KeyRecord>,
    frames: frames::Sorted<'a>,
    pool: pool::Sorted<'a>,
}

impl<'a> Sorted<'a> {
    /// Puts a change with its like; writes it at once where there are never many.
    fn take(&mut self, sink: &mut dyn Sink, change: &'a Change) -> Result<(), Fault> {
        match change {
            Change::Task(record) => self.tasks.push(record),
            Change::Log(record) => self.logs.push(record),
            Change::Report(record) => self.reports.push(record),
            Change::Job(record) => self.jobs.push(record),
            Change::Lane(record) => self.lanes.push(record),
            Change::Worker(record) => self.workers.push(record),
            Change::Share(record) => self.shares.push(((&record.worker, record.job), Some(record))),
            Change::ShareGone { worker, job } => self.shares.push(((worker, *job), None)),
            Change::Stop { worker, task, gone } => self.stops.push(((worker, *task), *gone)),
            Change::Key(record) => self.keys.push(record),
            Change::Secrets(worker, secrets) => secret::write(sink, worker, secrets)?,
            Change::WorkerLog(record) => worker_log::write(sink, record)?,
            Change::Alert(record) => alert::write(sink, record)?,
            Change::Frames(change) => self.frames.take(sink, change)?,
            Change::Pool(change) => self.pool.take(change),
            Change::Accounts(change) => accounts::write(sink, change)?,
            Change::Schedule(record) => schedule::write(sink, record)?,
            Change::ScheduleGone(id) => schedule::delete(sink, *id)?,
        }
        Ok(())
    }

    /// Writes what was put aside.
    fn write(self, sink: &mut dyn Sink) -> Result<(), Fault> {
        task::write(sink, self.tasks)?;
        log::write(sink, self.logs)?;
        report::write(sink, self.reports)?;
        job::write(sink, self.jobs)?;
        lane::write(sink, self.lanes)?;
        worker::write(sink, self.workers)?;
        share::write(sink, &self.shares)?;
        stop::write(sink, &self.stops)?;
        key::write(sink, self.keys)?;
        self.frames.write(sink)?;
        self.pool.write(sink)
    }
}

#[cfg(test)]
mod tests;
