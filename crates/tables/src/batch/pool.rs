//! The changes of the pool in a batch.

use crate::{
    fault::Fault,
    rows::{assignment, pool_end, pool_job, pool_key, pool_worker, sequence},
    sql::Sink,
};
use muster_model::{
    AssignmentRecord, PoolChange, PoolCounters, PoolEndRecord, PoolJobRecord, PoolKeyRecord, PoolWorkerRecord,
};

/// The changes by table. No row refers to another, so the order between tables is free.
#[derive(Default)]
pub(super) struct Sorted<'a> {
    workers: Vec<&'a PoolWorkerRecord>,
    jobs: Vec<&'a PoolJobRecord>,
    assignments: Vec<&'a AssignmentRecord>,
    ends: Vec<&'a PoolEndRecord>,
    keys: Vec<&'a PoolKeyRecord>,
    counters: Option<&'a PoolCounters>,
}

impl<'a> Sorted<'a> {
    /// Puts a change with its like.
    pub(super) fn take(&mut self, change: &'a PoolChange) {
        match change {
            PoolChange::Worker(record) => self.workers.push(record),
            PoolChange::Job(record) => self.jobs.push(record),
            PoolChange::Assignment(record) => self.assignments.push(record),
            PoolChange::End(record) => self.ends.push(record),
            PoolChange::Key(record) => self.keys.push(record),
            PoolChange::Counters(record) => self.counters = Some(record),
        }
    }

    /// Writes what was put aside.
    pub(super) fn write(self, sink: &mut dyn Sink) -> Result<(), Fault> {
        pool_job::write(sink, self.jobs)?;
        assignment::write(sink, self.assignments)?;
        pool_end::write(sink, self.ends)?;
        pool_worker::write(sink, self.workers)?;
        pool_key::write(sink, self.keys)?;
        self.counters.map_or(Ok(()), |counters| sequence::write_pool(sink, counters))
    }
}
