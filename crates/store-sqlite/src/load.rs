//! Handing over everything that is live, row by row.

mod accounts;
mod frames;
mod pool;

use crate::{
    fault::Fault,
    rows::{each, job, lane, schedule, secret, sequence, share, stop, task, worker},
};
use muster_model::{Name, SecretRecord};
use muster_store::Loaded;
use rusqlite::Connection;

/// Reads all live rows in one consistent state.
pub(crate) fn load(connection: &mut Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let transaction = connection.transaction()?;
    load_fleet(&transaction, sink)?;
    load_jobs(&transaction, sink)?;
    load_shares_and_stops(&transaction, sink)?;
    load_secrets(&transaction, sink)?;
    sink(Loaded::JobSeq(sequence::largest(&transaction, sequence::JOBS)?));
    frames::load(&transaction, sink)?;
    accounts::load(&transaction, sink)?;
    pool::load(&transaction, sink)?;
    load_schedules(&transaction, sink)?;
    transaction.commit()?;
    Ok(())
}

fn load_fleet(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    each(connection, &format!("SELECT {} FROM pcs ORDER BY id", worker::COLUMNS), [], |row| {
        sink(Loaded::Worker(worker::read(row)?));
        Ok(())
    })?;
    each(connection, &format!("SELECT {} FROM devices ORDER BY id", lane::COLUMNS), [], |row| {
        sink(Loaded::Lane(lane::read(row)?));
        Ok(())
    })
}

fn load_jobs(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let columns = job::COLUMNS_WITHOUT_PAYLOAD;
    let mut ids = Vec::new();
    each(connection, &format!("SELECT {columns} FROM tasks WHERE open = 1 ORDER BY seq"), [], |row| {
        let job = job::read(row)?;
        ids.push(job.id);
        sink(Loaded::Job(job));
        Ok(())
    })?;
    let columns = task::COLUMNS_WITHOUT_RESULT;
    let sql = format!("SELECT {columns} FROM task_devices WHERE id >= ?1 AND id < ?2 ORDER BY id");
    for id in ids {
        let range = crate::id_text::TaskRange::of(id);
        each(connection, &sql, [range.from, range.to], |row| {
            sink(Loaded::Task(task::read(row)?));
            Ok(())
        })?;
    }
    Ok(())
}

fn load_schedules(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    each(connection, &format!("SELECT {} FROM schedules ORDER BY id", schedule::COLUMNS), [], |row| {
        sink(Loaded::Schedule(Box::new(schedule::read(row)?)));
        Ok(())
    })
}

fn load_shares_and_stops(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let sql = format!("SELECT {} FROM pc_runs ORDER BY pc_id, task_id", share::COLUMNS);
    each(connection, &sql, [], |row| {
        sink(Loaded::Share(share::read(row)?));
        Ok(())
    })?;
    let sql = format!("SELECT {} FROM pc_stops ORDER BY pc_id, task_device_id", stop::COLUMNS);
    each(connection, &sql, [], |row| {
        let (worker, task) = stop::read(row)?;
        sink(Loaded::Stop(worker, task));
        Ok(())
    })
}

fn load_secrets(connection: &Connection, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let mut group: Option<(Name, Vec<SecretRecord>)> = None;
    let sql = format!("SELECT {} FROM pc_secrets ORDER BY pc_id, place", secret::COLUMNS);
    each(connection, &sql, [], |row| {
        let (worker, secret) = secret::read(row)?;
        match &mut group {
            Some((name, secrets)) if *name == worker => secrets.push(secret),
            _ => {
                if let Some((name, secrets)) = group.replace((worker, vec![secret])) {
                    sink(Loaded::Secrets(name, secrets));
                }
            }
        }
        Ok(())
    })?;
    if let Some((name, secrets)) = group {
        sink(Loaded::Secrets(name, secrets));
    }
    Ok(())
}
