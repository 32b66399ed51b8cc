//! Reads about everything at once: a few statements, however large the fleet is.

use super::TableReader;
use crate::{
    column::integer,
    fault::Fault,
    fields::Fields,
    record::{records, row, rows},
    rows::{pool, sequence},
    sql::{Connections, Sql},
};
use muster_model::{
    Attachment, JobId, JobStatus, Name, PoolJobId, SessionId, SessionStatus, TaskId, Timestamp,
};
use muster_store::{
    Backlog, FleetView, LaneView, OpenCounts, OverviewReader, POOL_JOBS_LOOKED_AT, StoreError,
};
use std::collections::HashMap;

impl<P: Connections> OverviewReader for TableReader<P> {
    fn fleet(&self) -> Result<FleetView, StoreError> {
        self.read(fleet)
    }

    fn backlog(&self) -> Result<Backlog, StoreError> {
        self.read(|connection| {
            let (jobs, sessions) = (jobs(connection)?, sessions(connection)?);
            Ok(Backlog { jobs, sessions, oldest_pool_job: oldest_pool_job(connection)? })
        })
    }
}

fn fleet(connection: &dyn Sql) -> Result<FleetView, Fault> {
    let workers = records(connection, "ORDER BY id", &[])?;
    let mut running = running(connection)?;
    let lanes =
        rows(connection, "SELECT id, pc_id, status, attachment FROM devices ORDER BY id", &[], |row| {
            let fields = Fields::new("devices", row);
            let attached = fields.text::<Attachment>(3)? == Attachment::Online;
            let (id, worker, status) = (fields.text(0)?, fields.text(1)?, fields.text(2)?);
            Ok(LaneView { id, worker, status, attached, running: None })
        })?;
    let with_task = |lane: LaneView| LaneView { running: running.remove(&lane.id), ..lane };
    Ok(FleetView { workers, lanes: lanes.into_iter().map(with_task).collect() })
}

/// What runs, by device. As the view `pc_device_summary` finds it: only a run that is open has running rows, and its rows
/// are one range of the primary key.
fn running(connection: &dyn Sql) -> Result<HashMap<Name, TaskId>, Fault> {
    let sql = "SELECT d.device_id, d.id FROM tasks t CROSS JOIN task_devices d \
               WHERE t.open = 1 AND d.id > t.id || '.' AND d.id < t.id || '/' AND d.status = 'running'";
    let mut running = HashMap::new();
    connection.each(sql, &[], &mut |row| {
        let fields = Fields::new("task_devices", row);
        running.insert(fields.text(0)?, fields.text(1)?);
        Ok(())
    })?;
    Ok(running)
}

fn jobs(connection: &dyn Sql) -> Result<OpenCounts<JobId>, Fault> {
    let mut counts = OpenCounts::default();
    let sql = "SELECT status, count(*) FROM tasks WHERE open = 1 GROUP BY status";
    connection.each(sql, &[], &mut |row| {
        let fields = Fields::new("tasks", row);
        match fields.text(0)? {
            JobStatus::Pending => counts.pending = fields.number(1)?,
            JobStatus::Running => counts.running = fields.number(1)?,
            // Ended, and something of it still runs.
            JobStatus::Success | JobStatus::Failed | JobStatus::Cancelled => {}
        }
        Ok(())
    })?;
    let oldest =
        "SELECT id, created_at FROM tasks WHERE open = 1 AND status = 'pending' ORDER BY seq LIMIT 1";
    counts.oldest = row(connection, oldest, &[], |row| {
        let fields = Fields::new("tasks", row);
        Ok((fields.text(0)?, fields.number(1)?))
    })?;
    Ok(counts)
}

fn sessions(connection: &dyn Sql) -> Result<OpenCounts<SessionId>, Fault> {
    let mut counts = OpenCounts::default();
    let sql = "SELECT s.id, s.status, s.created_at, \
               CAST(CASE WHEN EXISTS (SELECT 1 FROM sim_tasks t WHERE t.session_id = s.id) THEN 1 ELSE 0 END AS BIGINT) \
               FROM sim_sessions s WHERE s.open = 1 ORDER BY s.seq";
    connection.each(sql, &[], &mut |row| {
        let fields = Fields::new("sim_sessions", row);
        match (fields.text(1)?, fields.number(3)?) {
            (SessionStatus::Running, true) => counts.running += 1,
            (SessionStatus::Running, false) => {
                counts.pending += 1;
                if counts.oldest.is_none() {
                    counts.oldest = Some((fields.text(0)?, fields.number(2)?));
                }
            }
            (SessionStatus::Paused, _) => counts.paused += 1,
            (SessionStatus::Completed | SessionStatus::Failed | SessionStatus::Cancelled, _) => {}
        }
        Ok(())
    })?;
    Ok(counts)
}

fn oldest_pool_job(connection: &dyn Sql) -> Result<Option<(PoolJobId, Timestamp)>, Fault> {
    let first = sequence::pool(connection)?.oldest_open;
    let sql = format!(
        "SELECT id, created_at FROM (SELECT j.id, j.created_at, {} AS is_running FROM pool_jobs j \
         LEFT JOIN pool_ends e ON e.id = j.id AND e.id >= ?1 AND e.id < ?2 \
         WHERE j.id >= ?1 AND j.id < ?2 AND e.id IS NULL) AS open WHERE is_running = 0 ORDER BY id LIMIT 1",
        pool::is_running()
    );
    let params = [integer(first)?.into(), integer(first.saturating_add(POOL_JOBS_LOOKED_AT))?.into()];
    row(connection, &sql, &params, |row| {
        let fields = Fields::new("pool_jobs", row);
        Ok((fields.number(0)?, fields.number(1)?))
    })
}
