//! Measures how many task rows per second a store takes, loads and answers.
//!
//! `cargo run --release -p muster-store-sqlite --example throughput [rows] [batch]`
#![allow(clippy::disallowed_methods, reason = "a measurement needs the real clock")]

use muster_model::{
    Attachment, Change, Fence, JobId, JobOutcome, JobRecord, JobStatus, Key, Labels, LaneRecord, LaneStatus,
    LeaseKind, LogKind, LogRecord, Name, Recorded, ReportId, ReportRecord, ReportSubject, ReportType, Scope,
    TaskId, TaskRecord, TaskStatus, Timestamp, WorkerRecord, WorkerStatus,
};
use muster_store::{Batch, Cursor, Store, Writer};
use muster_store_sqlite::SqliteStore;
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let number = |place: usize, default: u32| {
        std::env::args().nth(place).and_then(|text| text.parse().ok()).unwrap_or(default)
    };
    let (rows, batch) = (number(1, 200_000), number(2, 256));
    let directory = tempfile::tempdir_in(".")?;
    let store = SqliteStore::open(directory.path())?;
    let mut term = store.begin_term()?;
    let job = JobId::new(Timestamp(1_760_000_000_000), 7);
    term.writer
        .commit(&Batch { changes: vec![Change::Job(Box::new(open_job(job)?))], ..Batch::default() })?;

    let lanes: Vec<Name> =
        (0..10_000).map(|n| Name::new(&format!("R58N30{n:05}"))).collect::<Result<_, _>>()?;
    let workers: Vec<Name> = (0..500).map(|n| Name::new(&format!("PC-{n:03}"))).collect::<Result<_, _>>()?;
    term.writer.commit(&fleet(&workers, &lanes))?;
    let task = |ordinal: u32, status| {
        let (lane, worker) = (ordinal as usize % lanes.len(), ordinal as usize % workers.len());
        new_task(TaskId { job, ordinal }, lanes[lane].clone(), workers[worker].clone(), status)
    };
    let started = Instant::now();
    let mut written = 0u32;
    // Each batch grants new tasks and ends the ones of the batch before.
    for first in (1..=rows).step_by(batch as usize) {
        let granted = (first..first + batch).map(|ordinal| task(ordinal, TaskStatus::Running));
        let ended =
            (first.saturating_sub(batch).max(1)..first).map(|ordinal| task(ordinal, TaskStatus::Completed));
        for half in [granted.collect::<Vec<_>>(), ended.collect()] {
            written += half.len() as u32;
            commit(term.writer.as_mut(), half)?;
        }
    }
    report("task rows written", written, started);
    measure_load(term.writer.as_mut())?;
    let started = Instant::now();
    let keys: Vec<Key> = (1..=256).map(|ordinal| Key::Task(TaskId { job, ordinal })).collect();
    term.lookup.facts(&keys)?;
    report("tasks looked up", 256, started);
    let started = Instant::now();
    store.reader().workers(&Cursor { after: None, limit: 500 })?;
    report("pc_device_summary pages read", 1, started);
    with_logs(term.writer.as_mut(), rows.min(50_000), batch, |ordinal| task(ordinal, TaskStatus::Completed))?;
    with_reports(term.writer.as_mut(), rows.min(200_000), batch)
}

fn measure_load(writer: &mut dyn Writer) -> Result<(), muster_store::StoreError> {
    let started = Instant::now();
    let mut loaded = 0;
    writer.load(&mut |_| loaded += 1)?;
    report("rows loaded", loaded, started);
    Ok(())
}

/// The same with what accompanies an end in earnest: a station of the log for each task.
fn with_logs(
    writer: &mut dyn Writer,
    rows: u32,
    batch: u32,
    task: impl Fn(u32) -> TaskRecord,
) -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    for first in (1..=rows).step_by(batch as usize) {
        let tasks: Vec<TaskRecord> = (first..first + batch).map(&task).collect();
        let logs: Vec<Change> = tasks.iter().map(|task| Change::Log(succeeded(task.id))).collect();
        let changes = tasks.into_iter().map(|task| Change::Task(Box::new(task))).chain(logs).collect();
        writer.commit(&Batch { changes, ..Batch::default() })?;
    }
    report("ends with a log row each", rows, started);
    Ok(())
}

fn commit(writer: &mut dyn Writer, tasks: Vec<TaskRecord>) -> Result<(), muster_store::StoreError> {
    let changes = tasks.into_iter().map(|task| Change::Task(Box::new(task))).collect();
    writer.commit(&Batch { changes, ..Batch::default() })
}

fn report(what: &str, count: u32, started: Instant) {
    let seconds = started.elapsed().as_secs_f64();
    println!("{count:>8} {what} in {seconds:.3} s: {:.0}/s", f64::from(count) / seconds);
}

/// Reports with ids that sort by time.
fn with_reports(writer: &mut dyn Writer, rows: u32, batch: u32) -> Result<(), Box<dyn std::error::Error>> {
    let started = Instant::now();
    for first in (1..=rows).step_by(batch as usize) {
        let reports = (first..first + batch).map(taken).collect::<Result<Vec<_>, _>>()?;
        let changes = reports.into_iter().map(|report| Change::Report(Box::new(report))).collect();
        writer.commit(&Batch { changes, ..Batch::default() })?;
    }
    report("reports", rows, started);
    Ok(())
}

fn taken(number: u32) -> Result<ReportRecord, muster_model::NameError> {
    Ok(ReportRecord {
        id: ReportId::new(&format!("01890a5d-ac96-774b-bcce-{number:012x}"))?,
        subject: ReportSubject { kind: ReportType::TaskFinished, job: JobId(1), ordinal: number },
        worker: Name::new("PC-001")?,
        task: None,
        effect: Recorded::Applied,
        body: "{\"type\":\"task_finished\"}".repeat(10).into(),
        at: Timestamp(1_760_000_002_000),
    })
}

fn succeeded(task: TaskId) -> LogRecord {
    let at = Timestamp(1_760_000_002_000);
    LogRecord { task, seq: 4, attempt: 1, kind: LogKind::Succeeded, message: None, at }
}

fn fleet(workers: &[Name], lanes: &[Name]) -> Batch {
    let at = Timestamp(1_760_000_000_000);
    let worker = |name: &Name| WorkerRecord {
        id: name.clone(),
        status: WorkerStatus::Online,
        status_since: at,
        cap: None,
        draining: false,
        paused_until: None,
        lease_until: at,
        last_seen: at,
        heartbeat_late_since: None,
        created_at: at,
    };
    let lane = |(place, name): (usize, &Name)| LaneRecord {
        id: name.clone(),
        worker: workers[place % workers.len()].clone(),
        handle: name.clone(),
        attachment: Attachment::Online,
        status: LaneStatus::Online,
        failed: false,
        labels: Labels::new(),
        offline_since: None,
        note: None,
        created_at: at,
    };
    let workers = workers.iter().map(|name| Change::Worker(Box::new(worker(name))));
    let lanes = lanes.iter().enumerate().map(|lane_at| Change::Lane(Box::new(lane(lane_at))));
    Batch { changes: workers.chain(lanes).collect(), ..Batch::default() }
}

fn open_job(id: JobId) -> Result<JobRecord, muster_model::NameError> {
    Ok(JobRecord {
        id,
        seq: 1,
        queue: Name::new("default")?,
        status: JobStatus::Running,
        outcome: JobOutcome::Open,
        scope: Scope::All,
        max_attempts: 3,
        tasks: 0,
        open: true,
        created_at: Timestamp(1_760_000_000_000),
        started_at: None,
        completed_at: None,
        error: None,
        payload: None,
    })
}

fn new_task(id: TaskId, lane: Name, worker: Name, status: TaskStatus) -> TaskRecord {
    let at = Timestamp(1_760_000_001_000);
    TaskRecord {
        id,
        worker,
        lane,
        status,
        attempt: 1,
        max_attempts: 3,
        error: None,
        result: None,
        fence: Fence(u128::from(id.ordinal) << 64 | 0xabcd),
        lease: LeaseKind::Presence,
        lease_until: Some(at),
        created_at: at,
        started_at: Some(at),
        confirmed_at: Some(at),
        timeout_at: Some(at),
        completed_at: status.is_ended().then_some(at),
        timed_out: false,
        logs: 3,
    }
}
