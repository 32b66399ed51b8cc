//! Devices, logs of workers, alerts; and the whole fleet in a few statements.

use super::nothing;
use crate::{
    column::integer,
    reader::TableReader,
    record::{record, records, row, rows},
    rows::{pool, sequence},
    sql::{Connections, Fault, Fields, Sql},
};
use muster_model::{
    AlertRecord, Attachment, HexText, JobId, JobStatus, LaneRecord, Name, PoolJobId, SessionId,
    SessionStatus, TaskId, Timestamp, WorkerLogRecord,
};
use muster_store::{
    Backlog, Cursor, FleetView, LaneFilter, LaneView, OpenCounts, OverviewReader, POOL_JOBS_LOOKED_AT, Page,
    StoreError,
    position::{List, Start, alert_key, parse_alert_key, sought},
};
use std::collections::HashMap;

/// Devices, by name.
pub(crate) fn lanes(
    connection: &dyn Sql,
    filter: &LaneFilter,
    page: &Cursor,
) -> Result<Page<LaneRecord>, Fault> {
    let Some(after) = name_start(List::Lanes, page) else {
        return Ok(nothing());
    };
    let status = filter.status.map(|status| status.as_str());
    let worker = filter.worker.as_ref().map(Name::as_str);
    // The index knows the devices of a worker in the order of their names.
    let of_worker = if worker.is_some() { "pc_id = ?3" } else { "CAST(?3 AS TEXT) IS NULL" };
    let rest = format!(
        "WHERE id > ?1 AND (CAST(?2 AS TEXT) IS NULL OR status = ?2) AND {of_worker} ORDER BY id LIMIT ?4"
    );
    let params = [after.as_str().into(), status.into(), worker.into(), sought(page).into()];
    let items = records(connection, &rest, &params)?;
    Ok(List::Lanes.page(page, items, |lane: &LaneRecord| lane.id.to_string()))
}

/// One device.
pub(crate) fn lane(connection: &dyn Sql, id: &Name) -> Result<Option<LaneRecord>, Fault> {
    record(connection, "WHERE id = ?1", &[id.as_str().into()])
}

/// A worker's life, newest first.
pub(crate) fn worker_log(connection: &dyn Sql, id: &Name, limit: u32) -> Result<Vec<WorkerLogRecord>, Fault> {
    let params = [id.as_str().into(), limit.into()];
    records(connection, "WHERE pc_id = ?1 ORDER BY id DESC LIMIT ?2", &params)
}

/// Alerts, newest first.
pub(crate) fn alerts(connection: &dyn Sql, page: &Cursor) -> Result<Page<AlertRecord>, Fault> {
    let (at, id) = match List::Alerts.start(page, parse_alert_key) {
        Start::Beginning => (i64::MAX, u128::MAX),
        Start::After(key) => key,
        Start::Nowhere => return Ok(nothing()),
    };
    let rest = "WHERE at <= ?1 AND (at < ?1 OR id < ?2) ORDER BY at DESC, id DESC LIMIT ?3";
    let id = HexText::new(id);
    let items = records(connection, rest, &[at.into(), id.as_str().into(), sought(page).into()])?;
    Ok(List::Alerts.page(page, items, |alert: &AlertRecord| alert_key(alert.at.0, alert.id)))
}

/// The name after which a page begins, the empty text being before all; `None`: nowhere.
pub(crate) fn name_start(names: List, page: &Cursor) -> Option<String> {
    match names.start(page, |text| Name::new(text).ok()) {
        Start::Beginning => Some(String::new()),
        Start::After(name) => Some(name.to_string()),
        Start::Nowhere => None,
    }
}

impl<P: Connections> OverviewReader for TableReader<P> {
    fn fleet(&self) -> Result<FleetView, StoreError> {
        self.read(fleet_view)
    }

    fn backlog(&self) -> Result<Backlog, StoreError> {
        self.read(|connection| {
            let (jobs, sessions) = (open_jobs(connection)?, open_sessions(connection)?);
            Ok(Backlog { jobs, sessions, oldest_pool_job: oldest_pool_job(connection)? })
        })
    }
}

fn fleet_view(connection: &dyn Sql) -> Result<FleetView, Fault> {
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

/// Running tasks by device, as the view `pc_device_summary` finds them: only a run that is open has running rows, and its rows
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

fn open_jobs(connection: &dyn Sql) -> Result<OpenCounts<JobId>, Fault> {
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

fn open_sessions(connection: &dyn Sql) -> Result<OpenCounts<SessionId>, Fault> {
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
