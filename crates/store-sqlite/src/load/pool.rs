//! What is live of the pool.

use crate::{
    fault::Fault,
    rows::{assignment, each, integer, pool_job, pool_worker, sequence},
};
use muster_model::PoolChange;
use muster_store::Loaded;
use rusqlite::Connection;

/// Reads the counters, all workers, open jobs and their assignments.
pub(crate) fn load(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let mut pool = |change| sink(Loaded::Pool(change));
    let counters = sequence::pool(connection)?;
    pool(PoolChange::Counters(counters));
    let sql = format!("SELECT {} FROM workers ORDER BY id", pool_worker::COLUMNS_WITHOUT_JSON);
    each(connection, &sql, [], |row| {
        pool(PoolChange::Worker(Box::new(pool_worker::read(row)?)));
        Ok(())
    })?;
    // Both tables are walked in the order of their ids from the oldest open job on: no older history is touched.
    let sql = format!(
        "SELECT {} FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id \
         WHERE j.id >= ?1 AND e.id IS NULL ORDER BY j.id",
        pool_job::COLUMNS_WITHOUT_PAYLOAD
    );
    each(connection, &sql, [integer(counters.oldest_open)?], |row| {
        let job = pool_job::read(row)?;
        let id = job.id;
        pool(PoolChange::Job(Box::new(job)));
        assignment::each_of(connection, id, assignment::COLUMNS_WITHOUT_RESULT, |record| {
            pool(PoolChange::Assignment(Box::new(record)));
        })
    })
}
