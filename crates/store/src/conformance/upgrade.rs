//! A database of schema version 4 is brought up to date: what its rows mean now, and that work goes on with them.
//!
//! That no row and no value is lost is for the tests of each store: they compare their tables before and after.

use super::samples::*;
use crate::{
    DiagnosticFilter, JobFilter, Loaded, Reader, TaskFilter,
    conformance::{
        Fixture,
        desk::{Desk, read_all},
    },
};
use muster_model::{
    DiagnosticKind, Fact, FrameChange, JobId, JobOutcome, Key, LogKind, LogRecord, PoolChange, PoolJobId,
    Removal, RendererState, ReportRecord, SessionId, SessionStatus, TaskId, Timestamp, WorkerLogKind,
};

/// Rows of version 4, as SQL for tables that have none. Blobs are written as in SQLite: `x'00'`.
pub const VERSION_4_ROWS: &str = include_str!("upgrade/version_4.sql");

/// Opens a database that holds [`VERSION_4_ROWS`], reads it, writes to it and opens it again.
///
/// # Panics
/// Fails if a row means something else than it did, or a write fails.
pub fn version_4_goes_on(fixture: Box<dyn Fixture>) {
    let desk = &mut Desk::open(fixture);
    runs_have_outcomes(desk.reader().as_ref());
    logs_are_kept(desk.reader().as_ref());
    sessions_are_kept(desk.reader().as_ref());
    workers_are_kept(desk.reader().as_ref());
    pool_is_kept(desk.reader().as_ref());
    open_work_is_loaded(desk);
    event_ids_are_repeats(desk);
    commits_are_kept(desk);
}

/// Q7b: each run of version 4 has the outcome that its rows say.
fn runs_have_outcomes(reader: &dyn Reader) {
    let runs = read_all(3, |page| reader.jobs(&JobFilter::default(), page));
    let outcomes: Vec<(u64, JobOutcome)> = runs.iter().map(|run| (run.seq, run.outcome)).collect();
    use JobOutcome::{Cancelled, Complete, Failed, Open, Partial};
    let expected =
        [(7, Open), (6, Open), (5, Cancelled), (4, Failed), (3, Partial), (2, Partial), (1, Complete)];
    assert_eq!(outcomes, expected);
    for run in &runs {
        let rows = read_all(9, |page| reader.tasks(run.id, &TaskFilter::default(), page));
        assert_eq!(rows.len(), run.tasks as usize, "run {}", run.seq);
    }
    let workers = reader.worker_records().expect("workers are read");
    let late: Vec<_> = workers.iter().map(|pc| (pc.id.as_str(), pc.heartbeat_late_since)).collect();
    assert_eq!(late, [("PC-01", None), ("PC-02", None)]);
    assert_eq!(reader.feed(0, 9).expect("the feed is read").entries.len(), 3);
}

/// Q12: every line of a log is there, in its order, although their rows were folded into those of their tasks.
fn logs_are_kept(reader: &dyn Reader) {
    use LogKind::{Acked, Created, Failed, FailedFinal, RetryScheduled, Sent, Succeeded, Timeout};
    let task = TaskId { job: run_id(1), ordinal: 1 };
    let line = |kind, seq, message: Option<&str>, at| {
        let (message, at) = (message.map(Into::into), Timestamp(at));
        LogRecord { message, at, ..log(task, seq, kind) }
    };
    let expected = [line(Sent, 1, None, 1001), line(Succeeded, 2, Some("끝"), 1002)];
    assert_eq!(reader.task_log(task).expect("a log is read"), expected);

    let found = reader.task_log(many_lines()).expect("a log is read");
    let kinds = [
        [Created, Sent, Acked, Failed],
        [RetryScheduled, Sent, Timeout, RetryScheduled],
        [Sent, Acked, Failed, FailedFinal],
    ];
    assert_eq!(found.iter().map(|line| line.kind).collect::<Vec<_>>(), kinds.concat());
    assert!(
        (1..).zip(&found).all(|(n, line)| line.seq == n && line.at.0 == 2000 + i64::from(n)),
        "{found:?}"
    );
    let messages: Vec<&str> = found.iter().filter_map(|line| line.message.as_deref()).collect();
    let timeout = "Task device timeout: exceeded 20 minutes";
    assert_eq!(messages, ["C:\\temp\\u0000 \"adb\", 끝", timeout, "],[\nline 2"]);
}

/// The task with the longest log.
fn many_lines() -> TaskId {
    TaskId { job: run_id(2), ordinal: 2 }
}

/// S26b: no frame of version 4 counts as failed: what a failed session lacks was ended with it, or never cut.
fn sessions_are_kept(reader: &dyn Reader) {
    let sessions = ["running", "paused", "completed", "failed", "cancelled"].map(|id| {
        let found = reader.session(&session_id(id)).expect("a session is read").expect("it is there");
        assert_eq!((found.status.as_str(), found.failed_frames), (id, 0));
        let tasks = read_all(2, |page| reader.frame_results(&session_id(id), page));
        assert!(tasks.iter().all(|task| task.losses == 0), "{tasks:?}");
        (found.status, tasks.len())
    });
    use SessionStatus::{Cancelled, Completed, Failed, Paused, Running};
    assert_eq!(sessions, [(Running, 3), (Paused, 1), (Completed, 1), (Failed, 3), (Cancelled, 1)]);
    let lines = read_all(9, |page| reader.diagnostics(&DiagnosticFilter::default(), page));
    assert_eq!(lines.len(), 2);
    assert!(lines.iter().all(|line| line.kind == DiagnosticKind::Message), "{lines:?}");
    assert_eq!(read_all(9, |page| reader.quarantine(page)).len(), 2);
}

/// S6: a worker that version 4 removed is one that knows of it, as it was then: nobody is alarmed about it.
fn workers_are_kept(reader: &dyn Reader) {
    let workers = read_all(9, |page| reader.renderers(page));
    let found: Vec<_> =
        workers.iter().map(|worker| (worker.id.as_str(), worker.state, worker.removal)).collect();
    use RendererState::{Healthy, Lost, Quarantined, Removed};
    let expected = [
        ("gpu-1", Healthy, None),
        ("gpu-2", Quarantined, None),
        ("gpu-3", Removed, Some(Removal::Known)),
        ("gpu-4", Lost, None),
    ];
    assert_eq!(found, expected);
    assert_eq!(workers[0].failures.len(), 2);
    assert!(workers.iter().all(|worker| worker.losses.is_empty() && worker.removed_from.is_empty()));
}

/// P15: a vote of version 4 is the hash that its worker declared, and is not stored a second time.
fn pool_is_kept(reader: &dyn Reader) {
    let votes = |job| {
        let found = reader.assignments(PoolJobId(job)).expect("assignments are read");
        found.into_iter().map(|row| (row.id.0, row.output_hash, row.vote)).collect::<Vec<_>>()
    };
    assert_eq!(votes(1), [(65, Some("aa".into()), None)]);
    assert_eq!(votes(2), [(129, Some("bb".into()), None), (130, None, None), (131, None, None)]);
}

fn open_work_is_loaded(desk: &mut Desk) {
    let loaded = desk.load();
    let count = |is: fn(&Loaded) -> bool| loaded.iter().filter(|record| is(record)).count();
    let counts = [
        count(|record| matches!(record, Loaded::Job(_))),
        count(|record| matches!(record, Loaded::Task(_))),
        count(|record| matches!(record, Loaded::Frames(FrameChange::Session(_)))),
        count(|record| matches!(record, Loaded::Frames(FrameChange::Task(_)))),
        count(|record| matches!(record, Loaded::Pool(PoolChange::Job(_)))),
        count(|record| matches!(record, Loaded::Pool(PoolChange::Assignment(_)))),
    ];
    assert_eq!(counts, [3, 4, 2, 4, 2, 3], "{loaded:?}");
}

/// N5: an event that version 4 acknowledged is known, whatever it was about.
fn event_ids_are_repeats(desk: &mut Desk) {
    for id in ["evt-1", "01890a5d-ac96-774b-bcce-b302099a8057"] {
        assert_eq!(desk.fact(Key::Report(report_id(id))), Some(Fact::Report(None)), "{id}");
    }
    assert_eq!(desk.fact(Key::Report(report_id("evt-2"))), None);
}

/// New rows stand beside the old ones, also in tables whose ids the database counts, and old ones can be changed.
fn commits_are_kept(desk: &mut Desk) {
    let run = desk.reader().job(run_id(6)).expect("a run is read").expect("it is there");
    let (was, now) = (run.outcome, JobOutcome::Partial);
    assert_eq!(was, JobOutcome::Open);
    let report = ReportRecord { subject: subject(2), ..report("evt-2", 9_000) };
    let task = desk.reader().task(many_lines()).expect("a task is read").expect("it is there");
    let line = LogRecord { at: Timestamp(2013), ..log(task.id, 13, LogKind::Sent) };
    let changes = [
        changed(task),
        changed(line),
        changed(muster_model::JobRecord { outcome: now, ..run }),
        changed(report),
        changed(worker_log("PC-01", WorkerLogKind::HeartbeatLate, 9_000)),
    ];
    desk.feed([4], changes.into());
    desk.reopen();
    let run = desk.reader().job(run_id(6)).expect("a run is read").expect("it is there");
    assert_eq!(run.outcome, now);
    assert_eq!(desk.fact(Key::Report(report_id("evt-1"))), Some(Fact::Report(None)));
    assert_eq!(desk.fact(Key::Report(report_id("evt-2"))), Some(Fact::Report(Some(subject(2)))));
    let log = desk.reader().worker_log(&name("PC-01"), 9).expect("a log is read");
    assert_eq!(log.len(), 2);
    let lines = desk.reader().task_log(many_lines()).expect("a log is read");
    assert_eq!(lines.iter().map(|line| line.seq).collect::<Vec<_>>(), (1..=13).collect::<Vec<_>>());
    assert_eq!((desk.term.epoch, desk.term.feed_seq), (6, 4));
}

fn run_id(number: u32) -> JobId {
    format!("01890a5d-0000-7000-8000-{number:012}").parse().expect("it is an id")
}

fn session_id(id: &str) -> SessionId {
    SessionId::new(id).expect("it is an id")
}
