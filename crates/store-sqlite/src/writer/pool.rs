//! The changes of the pool in a batch.

use crate::{
    fault::Fault,
    rows::{assignment, pool_end, pool_job, pool_key, pool_worker, sequence},
};
use muster_model::{
    AssignmentRecord, PoolChange, PoolCounters, PoolEndRecord, PoolJobRecord, PoolWorkerRecord,
};
use rusqlite::Connection;

/// The changes by table. No row refers to another, so the order between tables is free.
#[derive(Default)]
pub(crate) struct Sorted<'a> {
    workers: Vec<&'a PoolWorkerRecord>,
    jobs: Vec<&'a PoolJobRecord>,
    assignments: Vec<&'a AssignmentRecord>,
    ends: Vec<&'a PoolEndRecord>,
    counters: Option<&'a PoolCounters>,
}

impl<'a> Sorted<'a> {
    /// Puts a change with its like; writes it at once where there are never many.
    pub(crate) fn take(&mut self, connection: &Connection, change: &'a PoolChange) -> Result<(), Fault> {
        match change {
            PoolChange::Worker(record) => self.workers.push(record),
            PoolChange::Job(record) => self.jobs.push(record),
            PoolChange::Assignment(record) => self.assignments.push(record),
            PoolChange::End(record) => self.ends.push(record),
            PoolChange::Key(record) => pool_key::write(connection, record)?,
            PoolChange::Counters(record) => self.counters = Some(record),
        }
        Ok(())
    }

    /// Writes what was put aside.
    pub(crate) fn write(self, connection: &Connection) -> Result<(), Fault> {
        pool_job::write(connection, self.jobs)?;
        assignment::write(connection, self.assignments)?;
        pool_end::write(connection, self.ends)?;
        pool_worker::write(connection, self.workers)?;
        self.counters.map_or(Ok(()), |counters| sequence::write_pool(connection, counters))
    }
}
