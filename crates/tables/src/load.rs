//! Handing over everything that is live, row by row.
//!
//! Where a round trip costs, a start must not take as many as there are records: what is asked for each of many is asked
//! for all of them at once.

mod accounts;
mod frames;
mod pool;

use crate::{
    fault::Fault,
    id_text::TaskRange,
    rows::{job, lane, schedule, secret, sequence, share, stop, task, worker},
    sql::{Cells, Sql},
    value::Value,
};
use muster_model::{Name, SecretRecord};
use muster_store::Loaded;
use std::slice::Chunks;

/// Reads all live rows, in the order that [`muster_store::Writer::load`] asks for.
///
/// # Errors
/// When the database fails, or a row makes no sense.
pub fn load(connection: &dyn Sql, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let mut rows = Handover { connection, sink };
    load_fleet(&mut rows)?;
    load_jobs(&mut rows)?;
    load_shares_and_stops(&mut rows)?;
    load_secrets(&mut rows)?;
    (rows.sink)(Loaded::JobSeq(sequence::largest(connection, sequence::JOBS)?));
    frames::load(&mut rows)?;
    accounts::load(&mut rows)?;
    pool::load(&mut rows)?;
    let sql = format!("SELECT {} FROM schedules ORDER BY id", schedule::COLUMNS);
    rows.hand_over(&sql, |row| Ok(Loaded::Schedule(Box::new(schedule::read(row)?))))
}

/// Where rows come from and go to.
struct Handover<'a> {
    connection: &'a dyn Sql,
    sink: &'a mut dyn FnMut(Loaded),
}

impl Handover<'_> {
    /// Hands over what a query finds.
    fn hand_over(
        &mut self,
        sql: &str,
        read: impl Fn(&dyn Cells) -> Result<Loaded, Fault>,
    ) -> Result<(), Fault> {
        self.connection.each(sql, &[], &mut |row| {
            (self.sink)(read(row)?);
            Ok(())
        })
    }

    /// Hands over what a query finds for each of many sets of parameters.
    fn hand_over_for(
        &mut self,
        sql: &str,
        sets: Chunks<'_, Value<'_>>,
        read: impl Fn(&dyn Cells) -> Result<Loaded, Fault>,
    ) -> Result<(), Fault> {
        self.connection.each_for(sql, sets, &mut |row| {
            (self.sink)(read(row)?);
            Ok(())
        })
    }
}

fn load_fleet(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM pcs ORDER BY id", worker::COLUMNS);
    rows.hand_over(&sql, |row| worker::read(row).map(Loaded::Worker))?;
    let sql = format!("SELECT {} FROM devices ORDER BY id", lane::COLUMNS);
    rows.hand_over(&sql, |row| lane::read(row).map(Loaded::Lane))
}

fn load_jobs(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let mut ranges = Vec::new();
    let columns = job::COLUMNS_WITHOUT_PAYLOAD;
    let sql = format!("SELECT {columns} FROM tasks WHERE open = 1 ORDER BY seq");
    rows.connection.each(&sql, &[], &mut |row| {
        let job = job::read(row)?;
        ranges.push(TaskRange::of(job.id));
        (rows.sink)(Loaded::Job(job));
        Ok(())
    })?;
    // In order: of several tasks of a job on one device the last counts, and those that wait keep their places.
    let columns = task::COLUMNS_WITHOUT_RESULT;
    let sql = format!("SELECT {columns} FROM task_devices WHERE id >= ?1 AND id < ?2 ORDER BY id");
    let ranges: Vec<Value<'_>> =
        ranges.iter().flat_map(|range| [range.from.as_str().into(), range.to.as_str().into()]).collect();
    rows.hand_over_for(&sql, ranges.chunks(2), |row| task::read(row).map(Loaded::Task))
}

fn load_shares_and_stops(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM pc_runs ORDER BY pc_id, task_id", share::COLUMNS);
    rows.hand_over(&sql, |row| share::read(row).map(Loaded::Share))?;
    let sql = format!("SELECT {} FROM pc_stops ORDER BY pc_id, task_device_id", stop::COLUMNS);
    rows.hand_over(&sql, |row| stop::read(row).map(|(worker, task)| Loaded::Stop(worker, task)))
}

fn load_secrets(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let mut group: Option<(Name, Vec<SecretRecord>)> = None;
    let sql = format!("SELECT {} FROM pc_secrets ORDER BY pc_id, place", secret::COLUMNS);
    rows.connection.each(&sql, &[], &mut |row| {
        let (worker, secret) = secret::read(row)?;
        match &mut group {
            Some((name, secrets)) if *name == worker => secrets.push(secret),
            _ => {
                if let Some((name, secrets)) = group.replace((worker, vec![secret])) {
                    (rows.sink)(Loaded::Secrets(name, secrets));
                }
            }
        }
        Ok(())
    })?;
    if let Some((name, secrets)) = group {
        (rows.sink)(Loaded::Secrets(name, secrets));
    }
    Ok(())
}
