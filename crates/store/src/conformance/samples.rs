//! Records to write: a plain one of each kind, to be varied by the cases.

use muster_model::{
    AccountChange, AlertKind, AlertRecord, ApiKeyRecord, AssignmentRecord, Attachment, AuditRecord, Change,
    ChunkRecord, DiagnosticRecord, Digest, FarmRecord, Fence, FrameChange, FrameTaskRecord, JobId,
    JobOutcome, JobPayload, JobRecord, JobStatus, KeyRecord, Labels, LaneRecord, LaneStatus, LeaseKind,
    LogKind, LogRecord, LoginRecord, Millis, Name, PoolChange, PoolCounters, PoolEndRecord, PoolJobRecord,
    PoolKeyRecord, PoolWorkerRecord, QuarantineRecord, Recorded, RendererRecord, ReplayRecord, ReportId,
    ReportRecord, ReportSubject, ReportType, ScheduleId, ScheduleRecord, Scope, SessionRecord, ShareCounts,
    ShareRecord, SubmissionKey, TaskId, TaskRecord, TaskStatus, Timestamp, TransitionRecord, UserRecord,
    WorkerLogKind, WorkerLogRecord, WorkerRecord, WorkerStatus,
};

pub(crate) fn name(text: &str) -> Name {
    Name::new(text).expect("the suite's names are names")
}

pub(crate) fn job_id(number: u64) -> JobId {
    JobId::new(Timestamp(1_760_000_000_000), u128::from(number))
}

pub(crate) fn task_id(job: u64, ordinal: u32) -> TaskId {
    TaskId { job: job_id(job), ordinal }
}

pub(crate) fn payload() -> JobPayload {
    JobPayload {
        title: Some("아침 점검 \"7\"".into()),
        workflow: "login_flow".into(),
        params: "{\"n\": 1}".into(),
        timeout: Some(Millis(60_000)),
        schedule: Some(ScheduleId(9)),
    }
}

/// An open job whose age is its number.
pub(crate) fn job(number: u64) -> JobRecord {
    JobRecord {
        id: job_id(number),
        seq: number,
        queue: name("default"),
        status: JobStatus::Running,
        outcome: JobOutcome::Open,
        scope: Scope::All,
        max_attempts: 3,
        tasks: 0,
        open: true,
        created_at: Timestamp(1_000),
        started_at: None,
        completed_at: None,
        error: None,
        payload: Some(payload()),
    }
}

/// A job that ended at a moment.
pub(crate) fn closed_job(number: u64, at: i64) -> JobRecord {
    let (status, outcome) = (JobStatus::Success, JobOutcome::Complete);
    let ended = JobRecord { status, outcome, open: false, ..job(number) };
    JobRecord { completed_at: Some(Timestamp(at)), ..ended }
}

pub(crate) fn task(job: u64, ordinal: u32) -> TaskRecord {
    TaskRecord {
        id: task_id(job, ordinal),
        worker: name("PC-01"),
        lane: name(&format!("device-{ordinal}")),
        status: TaskStatus::Running,
        attempt: 1,
        max_attempts: 3,
        error: None,
        result: None,
        fence: Fence(u128::from(ordinal)),
        lease: LeaseKind::Presence,
        lease_until: None,
        created_at: Timestamp(1_000),
        started_at: None,
        confirmed_at: None,
        timeout_at: None,
        completed_at: None,
        timed_out: false,
        logs: 0,
    }
}

/// A task that ended at a moment.
pub(crate) fn ended_task(job: u64, ordinal: u32, at: i64) -> TaskRecord {
    let running = task(job, ordinal);
    TaskRecord { status: TaskStatus::Completed, completed_at: Some(Timestamp(at)), ..running }
}

pub(crate) fn lane(id: &str, worker: &str) -> LaneRecord {
    LaneRecord {
        id: name(id),
        worker: name(worker),
        handle: name("192.168.0.7:5555"),
        attachment: Attachment::Online,
        status: LaneStatus::Online,
        failed: false,
        labels: Labels::new(),
        offline_since: None,
        note: None,
        created_at: Timestamp(1_000),
    }
}

pub(crate) fn worker(id: &str) -> WorkerRecord {
    WorkerRecord {
        id: name(id),
        status: WorkerStatus::Online,
        status_since: Timestamp(1_000),
        cap: None,
        draining: false,
        paused_until: None,
        lease_until: Timestamp(2_000),
        last_seen: Timestamp(1_000),
        heartbeat_late_since: None,
        created_at: Timestamp(1_000),
    }
}

pub(crate) fn share(worker: &str, job: u64) -> ShareRecord {
    ShareRecord {
        worker: name(worker),
        job: job_id(job),
        first: task_id(job, 1),
        finished: false,
        counts: ShareCounts::default(),
    }
}

pub(crate) fn log(task: TaskId, seq: u32, kind: LogKind) -> LogRecord {
    LogRecord { task, seq, attempt: 1, kind, message: None, at: Timestamp(1_000) }
}

pub(crate) fn worker_log(worker: &str, kind: WorkerLogKind, at: i64) -> WorkerLogRecord {
    WorkerLogRecord { worker: name(worker), kind, at: Timestamp(at) }
}

pub(crate) fn report_id(text: &str) -> ReportId {
    ReportId::new(text).expect("the suite's report ids are ids")
}

pub(crate) fn subject(ordinal: u32) -> ReportSubject {
    ReportSubject { kind: ReportType::TaskFinished, job: job_id(1), ordinal }
}

pub(crate) fn report(id: &str, at: i64) -> ReportRecord {
    ReportRecord {
        id: report_id(id),
        subject: subject(1),
        worker: name("PC-01"),
        task: Some(task_id(1, 1)),
        effect: Recorded::Applied,
        body: "{\"later_field\": \"기기\"}".into(),
        at: Timestamp(at),
    }
}

pub(crate) fn submission_key(text: &str) -> SubmissionKey {
    SubmissionKey::new(text).expect("the suite's keys are keys")
}

pub(crate) fn key(text: &str, at: i64) -> KeyRecord {
    KeyRecord {
        key: submission_key(text),
        digest: Digest(u128::MAX),
        job: job_id(1),
        status: JobStatus::Pending,
        at: Timestamp(at),
    }
}

pub(crate) fn alert(id: u128, at: i64) -> AlertRecord {
    AlertRecord {
        id,
        kind: AlertKind::MassDropout,
        worker: name("PC-01"),
        job: None,
        message: "12 devices of PC-01 vanished".into(),
        at: Timestamp(at),
    }
}

pub(crate) fn changed(record: impl Into<Row>) -> Change {
    record.into().0
}

/// A record on its way to becoming a change.
pub(crate) struct Row(Change);

macro_rules! rows {
    ($($record:ty => $change:expr),* $(,)?) => {
        $(impl From<$record> for Row {
            fn from(record: $record) -> Self {
                Self($change(record.into()))
            }
        })*
    };
}

macro_rules! rows_of {
    ($part:path: $($record:ty => $change:expr),* $(,)?) => {
        $(impl From<$record> for Row {
            fn from(record: $record) -> Self {
                Self($part($change(record.into())))
            }
        })*
    };
}

rows! {
    JobRecord => Change::Job,
    TaskRecord => Change::Task,
    LaneRecord => Change::Lane,
    WorkerRecord => Change::Worker,
    ShareRecord => Change::Share,
    LogRecord => Change::Log,
    WorkerLogRecord => Change::WorkerLog,
    ReportRecord => Change::Report,
    KeyRecord => Change::Key,
    AlertRecord => Change::Alert,
    ScheduleRecord => Change::Schedule,
}

rows_of! {
    Change::Frames:
    RendererRecord => FrameChange::Renderer,
    TransitionRecord => FrameChange::Transition,
    SessionRecord => FrameChange::Session,
    FrameTaskRecord => FrameChange::Task,
    ChunkRecord => FrameChange::Chunk,
    ReplayRecord => FrameChange::Replay,
    QuarantineRecord => FrameChange::Quarantine,
    DiagnosticRecord => FrameChange::Diagnostic,
    FarmRecord => FrameChange::Farm,
}

rows_of! {
    Change::Pool:
    PoolWorkerRecord => PoolChange::Worker,
    PoolJobRecord => PoolChange::Job,
    AssignmentRecord => PoolChange::Assignment,
    PoolEndRecord => PoolChange::End,
    PoolKeyRecord => PoolChange::Key,
    PoolCounters => PoolChange::Counters,
}

rows_of! {
    Change::Accounts:
    UserRecord => AccountChange::User,
    LoginRecord => AccountChange::Login,
    ApiKeyRecord => AccountChange::ApiKey,
    AuditRecord => AccountChange::Audit,
}
