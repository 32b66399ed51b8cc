//! Handing over everything that is live, row by row.
//!
//! A start must not take one round trip per record where round trips are costly: queries that each of many records
//! needs are sent for all of them at once.

use crate::{
    column::integer,
    id_text::TaskRange,
    record::Record,
    rows::{fleet, frames, job, pool, report, sequence},
    sql::{Fault, Fields, Sql, Value},
};
use muster_model::{
    AccountChange, ApiKeyRecord, AssignmentRecord, ChunkRecord, FrameChange, FrameTaskRecord, JobRecord,
    LaneRecord, LoginRecord, Name, PoolChange, PoolJobRecord, PoolWorkerRecord, QuarantineRecord,
    RendererRecord, ScheduleRecord, SecretRecord, SessionRecord, ShareRecord, TaskRecord, UserRecord,
    WorkerRecord,
};
use muster_store::Loaded;
use std::slice::Chunks;

/// Reads all live rows, in the order that [`muster_store::Writer::load`] asks for.
pub fn load(connection: &dyn Sql, sink: &mut dyn FnMut(Loaded)) -> Result<(), Fault> {
    let mut rows = Handover { connection, sink };
    rows.all("ORDER BY id", |worker: WorkerRecord| Loaded::Worker(worker))?;
    rows.all("ORDER BY id", |lane: LaneRecord| Loaded::Lane(lane))?;
    load_jobs(&mut rows)?;
    rows.all("ORDER BY pc_id, task_id", |share: ShareRecord| Loaded::Share(share))?;
    rows.all("ORDER BY pc_id, task_device_id", |stop: job::Stop| Loaded::Stop(stop.worker, stop.task))?;
    load_secrets(&mut rows)?;
    (rows.sink)(Loaded::JobSeq(sequence::largest(connection, sequence::JOBS)?));
    if let Some(newest) = report::newest(connection)? {
        (rows.sink)(Loaded::NewestReport(newest));
    }
    load_frames(&mut rows)?;
    load_accounts(&mut rows)?;
    load_pool(&mut rows)?;
    rows.all("ORDER BY id", |schedule: ScheduleRecord| Loaded::Schedule(Box::new(schedule)))
}

/// Source and destination of rows.
struct Handover<'a> {
    connection: &'a dyn Sql,
    sink: &'a mut dyn FnMut(Loaded),
}

impl Handover<'_> {
    /// Hands over the records of a query, without what is large; `rest` follows the table's name.
    fn all<T: Record>(&mut self, rest: &str, loaded: impl Fn(T) -> Loaded) -> Result<(), Fault> {
        self.connection.each(&select::<T>(rest), &[], &mut |row| {
            (self.sink)(loaded(T::read(row)?));
            Ok(())
        })
    }

    /// Hands over the records of a query for each of many sets of parameters.
    fn all_for<T: Record>(
        &mut self,
        rest: &str,
        sets: Chunks<'_, Value<'_>>,
        loaded: impl Fn(T) -> Loaded,
    ) -> Result<(), Fault> {
        self.connection.each_for(&select::<T>(rest), sets, &mut |row| {
            (self.sink)(loaded(T::read(row)?));
            Ok(())
        })
    }
}

fn select<T: Record>(rest: &str) -> String {
    format!("SELECT {} FROM {} {rest}", T::SHORT_COLUMNS, T::FROM)
}

fn load_jobs(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let mut ranges = Vec::new();
    rows.connection.each(&select::<JobRecord>("WHERE open = 1 ORDER BY seq"), &[], &mut |row| {
        let job = JobRecord::read(row)?;
        ranges.push(TaskRange::of(job.id));
        (rows.sink)(Loaded::Job(job));
        Ok(())
    })?;
    // In order: of several tasks of a job on one device the last counts, and those that wait keep their places.
    let ranges: Vec<Value<'_>> =
        ranges.iter().flat_map(|range| [range.from.as_str().into(), range.to.as_str().into()]).collect();
    rows.all_for("WHERE id >= ?1 AND id < ?2 ORDER BY id", ranges.chunks(2), |task: TaskRecord| {
        Loaded::Task(task)
    })
}

fn load_secrets(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let mut group: Option<(Name, Vec<SecretRecord>)> = None;
    rows.connection.each(&select::<fleet::Secret>("ORDER BY pc_id, place"), &[], &mut |row| {
        let fleet::Secret { worker, secret, .. } = fleet::Secret::read(row)?;
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

/// Reads all live rows of sessions.
fn load_frames(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let frames = |change| Loaded::Frames(change);
    (rows.sink)(frames(FrameChange::Farm(frames::farm(rows.connection)?)));
    rows.all("ORDER BY id", |it: RendererRecord| frames(FrameChange::Renderer(Box::new(it))))?;
    load_sessions(rows)?;
    rows.all("WHERE moved = 0 ORDER BY at, id", |entry: QuarantineRecord| {
        frames(FrameChange::Quarantine(Box::new(entry)))
    })?;
    (rows.sink)(Loaded::SessionSeq(sequence::largest(rows.connection, sequence::SESSIONS)?));
    Ok(())
}

/// Reads open sessions, their ranges, and the grants of these that are live.
fn load_sessions(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let mut ids = Vec::new();
    rows.connection.each(&select::<SessionRecord>("WHERE open = 1 ORDER BY seq"), &[], &mut |row| {
        let session = SessionRecord::read(row)?;
        ids.push(session.id.clone());
        (rows.sink)(Loaded::Frames(FrameChange::Session(Box::new(session))));
        Ok(())
    })?;
    let ids: Vec<Value<'_>> = ids.iter().map(|id| id.as_str().into()).collect();
    rows.all_for("WHERE session_id = ?1 ORDER BY start_frame", ids.chunks(1), |task: FrameTaskRecord| {
        Loaded::Frames(FrameChange::Task(Box::new(task)))
    })?;
    // By their sessions: the open ones are found among any amount of history.
    let sql = format!(
        "SELECT {} FROM (SELECT id FROM sim_sessions WHERE open = 1) AS s CROSS JOIN sim_chunks \
         WHERE session_id = s.id AND state = 'live' ORDER BY chunk_id",
        ChunkRecord::COLUMNS
    );
    rows.connection.each(&sql, &[], &mut |row| {
        (rows.sink)(Loaded::Frames(FrameChange::Chunk(ChunkRecord::read(row)?)));
        Ok(())
    })
}

/// Reads users, logins and keys; keys that were taken back too, so that numbering goes on after them.
fn load_accounts(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let accounts = |change| Loaded::Accounts(change);
    rows.all("ORDER BY id", |user: UserRecord| accounts(AccountChange::User(Box::new(user))))?;
    rows.all("ORDER BY id", |login: LoginRecord| accounts(AccountChange::Login(login)))?;
    rows.all("ORDER BY id", |key: ApiKeyRecord| accounts(AccountChange::ApiKey(Box::new(key))))
}

/// Reads the counters, all workers of the pool, open jobs and their assignments.
fn load_pool(rows: &mut Handover<'_>) -> Result<(), Fault> {
    let counters = sequence::pool(rows.connection)?;
    (rows.sink)(Loaded::Pool(PoolChange::Counters(counters)));
    rows.all("ORDER BY id", |worker: PoolWorkerRecord| Loaded::Pool(PoolChange::Worker(Box::new(worker))))?;
    load_pool_jobs(rows, integer(counters.oldest_open)?)
}

/// Reads each open job, followed by its assignments.
fn load_pool_jobs(rows: &mut Handover<'_>, oldest_open: i64) -> Result<(), Fault> {
    // All three tables are walked in the order of their ids from the oldest open job on: no older history is touched,
    // which PostgreSQL must be told of each.
    let sql = format!(
        "SELECT {}, {} FROM pool_jobs j LEFT JOIN pool_ends e ON e.id = j.id AND e.id >= ?1 \
         LEFT JOIN pool_assignments a ON {} WHERE j.id >= ?1 AND e.id IS NULL ORDER BY j.id, a.id",
        PoolJobRecord::SHORT_COLUMNS,
        AssignmentRecord::SHORT_COLUMNS,
        pool::IS_OF_JOB,
    );
    let mut last = None;
    rows.connection.each(&sql, &[oldest_open.into()], &mut |row| {
        // A job with several assignments stands in as many rows.
        let id = Fields::new("pool_jobs", row).number::<u64>(0)?;
        if last.replace(id) != Some(id) {
            (rows.sink)(Loaded::Pool(PoolChange::Job(Box::new(PoolJobRecord::read(row)?))));
        }
        if !Fields::from("pool_assignments", row, PoolJobRecord::WIDTH).is_null(0)? {
            let record = AssignmentRecord::read_at(row, PoolJobRecord::WIDTH)?;
            (rows.sink)(Loaded::Pool(PoolChange::Assignment(Box::new(record))));
        }
        Ok(())
    })
}
