//! What is live of the pool.

use super::Handover;
use crate::{
    fault::Fault,
    fields::Fields,
    rows::{assignment, integer, pool_job, pool_worker, sequence},
};
use muster_model::PoolChange;
use muster_store::Loaded;

/// Reads the counters, all workers, open jobs and their assignments.
pub(super) fn load(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let counters = sequence::pool(rows.connection)?;
    (rows.sink)(Loaded::Pool(PoolChange::Counters(counters)));
    let sql = format!("SELECT {} FROM workers ORDER BY id", pool_worker::COLUMNS_WITHOUT_JSON);
    rows.hand_over(&sql, |row| Ok(Loaded::Pool(PoolChange::Worker(Box::new(pool_worker::read(row)?)))))?;
    load_jobs(rows, integer(counters.oldest_open)?)
}

/// Reads each open job, followed by its assignments.
fn load_jobs(rows: &mut Handover<'_>, oldest_open: i64) -> Result<(), Fault> {
    // All three tables are walked in the order of their ids from the oldest open job on: no older history is touched,
    // which PostgreSQL must be told of each.
    let sql = format!(
        "SELECT {}, {} FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id AND e.id >= ?1 \
         LEFT JOIN pool_assignments a ON {} WHERE j.id >= ?1 AND e.id IS NULL ORDER BY j.id, a.id",
        pool_job::COLUMNS_WITHOUT_PAYLOAD,
        assignment::COLUMNS_WITHOUT_RESULT,
        assignment::IS_OF_JOB,
    );
    let mut last = None;
    rows.connection.each(&sql, &[oldest_open.into()], &mut |row| {
        // A job with several assignments stands in as many rows.
        let id = Fields::new("pool_jobs", row).number::<u64>(0)?;
        if last.replace(id) != Some(id) {
            (rows.sink)(Loaded::Pool(PoolChange::Job(Box::new(pool_job::read(row)?))));
        }
        if !Fields::from("pool_assignments", row, pool_job::WIDTH).is_null(0)? {
            let record = assignment::read_at(row, pool_job::WIDTH)?;
            (rows.sink)(Loaded::Pool(PoolChange::Assignment(Box::new(record))));
        }
        Ok(())
    })
}
