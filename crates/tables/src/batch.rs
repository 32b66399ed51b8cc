//! Writes a batch, table by table.

use crate::{
    record::{write, write_all, write_latest},
    rows::{accounts, feed, fleet, frames, job, log, pool, report, sequence},
    sql::{Fault, Sink},
};
use muster_model::{
    AccountChange, AssignmentRecord, Change, ChunkRecord, DiagnosticRecord, FarmRecord, FrameChange,
    FrameTaskRecord, JobRecord, KeyRecord, LaneRecord, LogRecord, PoolChange, PoolCounters, PoolEndRecord,
    PoolJobRecord, PoolKeyRecord, PoolWorkerRecord, ReportRecord, SessionRecord, TaskRecord, WorkerRecord,
};
use muster_store::Batch;

/// Writes a batch; its entries of the feed are dated with `moment`.
pub fn write_batch(batch: &Batch, moment: i64, sink: &mut dyn Sink) -> Result<(), Fault> {
    let mut sorted = Sorted::default();
    for change in &batch.changes {
        sorted.take(sink, change)?;
    }
    sorted.write(sink)?;
    fleet::write_sightings(sink, &batch.sightings)?;
    pool::write_sightings(sink, &batch.pool_sightings)?;
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
    shares: Vec<job::ShareChange<'a>>,
    stops: Vec<job::StopChange<'a>>,
    keys: Vec<&'a KeyRecord>,
    frames: SortedFrames<'a>,
    pool: SortedPool<'a>,
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
            Change::Secrets(worker, secrets) => fleet::write_secrets(sink, worker, secrets)?,
            Change::WorkerLog(record) => write(sink, record)?,
            Change::Alert(record) => write(sink, record)?,
            Change::Frames(change) => self.frames.take(sink, change)?,
            Change::Pool(change) => self.pool.take(change),
            Change::Accounts(change) => write_account(sink, change)?,
            Change::Schedule(record) => write(sink, &**record)?,
            Change::ScheduleGone(id) => job::delete_schedule(sink, *id)?,
        }
        Ok(())
    }

    /// Writes what was put aside.
    fn write(self, sink: &mut dyn Sink) -> Result<(), Fault> {
        log::write_tasks(sink, self.tasks, self.logs)?;
        report::write(sink, &self.reports)?;
        job::write_jobs(sink, self.jobs)?;
        write_latest(sink, self.lanes, |record| &record.id)?;
        write_latest(sink, self.workers, |record| &record.id)?;
        job::write_shares(sink, &self.shares)?;
        job::write_stops(sink, &self.stops)?;
        write_latest(sink, self.keys, |record| &record.key)?;
        self.frames.write(sink)?;
        self.pool.write(sink)
    }
}

/// The changes of sessions.
#[derive(Default)]
struct SortedFrames<'a> {
    tasks: Vec<&'a FrameTaskRecord>,
    chunks: Vec<&'a ChunkRecord>,
    sessions: Vec<&'a SessionRecord>,
    diagnostics: Vec<&'a DiagnosticRecord>,
    farm: Option<&'a FarmRecord>,
}

impl<'a> SortedFrames<'a> {
    fn take(&mut self, sink: &mut dyn Sink, change: &'a FrameChange) -> Result<(), Fault> {
        match change {
            FrameChange::Task(record) => self.tasks.push(record),
            FrameChange::Chunk(record) => self.chunks.push(record),
            FrameChange::Session(record) => self.sessions.push(record),
            FrameChange::Diagnostic(record) => self.diagnostics.push(record),
            FrameChange::Farm(record) => self.farm = Some(record),
            FrameChange::Renderer(record) => write(sink, &**record)?,
            FrameChange::RendererGone(id) => frames::delete_renderer(sink, id)?,
            FrameChange::Transition(record) => write(sink, record)?,
            FrameChange::Replay(record) => write(sink, record)?,
            FrameChange::Quarantine(record) => write(sink, &**record)?,
        }
        Ok(())
    }

    fn write(self, sink: &mut dyn Sink) -> Result<(), Fault> {
        frames::write_tasks(sink, self.tasks)?;
        write_latest(sink, self.chunks, |record| record.ids.chunk)?;
        frames::write_sessions(sink, self.sessions)?;
        write_all(sink, &self.diagnostics)?;
        self.farm.map_or(Ok(()), |farm| frames::write_farm(sink, *farm))
    }
}

/// The changes of the pool.
#[derive(Default)]
struct SortedPool<'a> {
    workers: Vec<&'a PoolWorkerRecord>,
    jobs: Vec<&'a PoolJobRecord>,
    assignments: Vec<&'a AssignmentRecord>,
    ends: Vec<&'a PoolEndRecord>,
    keys: Vec<&'a PoolKeyRecord>,
    counters: Option<&'a PoolCounters>,
}

impl<'a> SortedPool<'a> {
    fn take(&mut self, change: &'a PoolChange) {
        match change {
            PoolChange::Worker(record) => self.workers.push(record),
            PoolChange::Job(record) => self.jobs.push(record),
            PoolChange::Assignment(record) => self.assignments.push(record),
            PoolChange::End(record) => self.ends.push(record),
            PoolChange::Key(record) => self.keys.push(record),
            PoolChange::Counters(record) => self.counters = Some(record),
        }
    }

    fn write(self, sink: &mut dyn Sink) -> Result<(), Fault> {
        write_latest(sink, self.jobs, |record| record.id)?;
        pool::write_assignments(sink, self.assignments)?;
        write_latest(sink, self.ends, |record| record.job)?;
        pool::write_workers(sink, self.workers)?;
        write_latest(sink, self.keys, |record| (record.client, &record.key))?;
        self.counters.map_or(Ok(()), |counters| sequence::write_pool(sink, counters))
    }
}

/// Writes a change of accounts at once: there are never many.
fn write_account(sink: &mut dyn Sink, change: &AccountChange) -> Result<(), Fault> {
    match change {
        AccountChange::User(record) => write(sink, &**record),
        AccountChange::Login(record) => write(sink, record),
        AccountChange::LoginGone(id) => accounts::delete_login(sink, *id),
        AccountChange::ApiKey(record) => write(sink, &**record),
        AccountChange::Audit(record) => write(sink, record),
    }
}

#[cfg(test)]
mod tests;
