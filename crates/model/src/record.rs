//! Records in a store: rows that mirror the engine's state, and rows of history.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use crate::{
    AccountChange, Attachment, Digest, Fence, FrameChange, JobId, JobOutcome, JobPayload, JobStatus, Labels,
    LaneStatus, LeaseKind, Name, PoolChange, Recorded, ReportId, ReportSubject, ScheduleId, ScheduleRecord,
    Scope, SubmissionKey, TaskId, TaskStatus, Timestamp, WorkerStatus,
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};

/// One row to be written. Rows that mirror state replace the row of the same key; history is added.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Table `tasks`.
    Job(Box<JobRecord>),
    /// Table `task_devices`.
    Task(Box<TaskRecord>),
    /// Table `devices`.
    Lane(Box<LaneRecord>),
    /// Table `pcs`.
    Worker(Box<WorkerRecord>),
    /// Table `pc_runs`.
    Share(ShareRecord),
    /// Table `pc_runs`: the row is gone.
    ShareGone { worker: Name, job: JobId },
    /// Table `pc_stops` (key: worker and task): the worker must be told to stop this task, or (`gone`) no longer.
    Stop {
        /// The worker to tell.
        worker: Name,
        /// The task to stop.
        task: TaskId,
        /// The row is gone.
        gone: bool,
    },
    /// Table `pc_secrets`: all secrets of the worker are replaced by these.
    Secrets(Name, Vec<SecretRecord>),
    /// View `execution_logs`. Comes in the same batch as a record of its task.
    Log(LogRecord),
    /// Table `pc_logs`.
    WorkerLog(WorkerLogRecord),
    /// Tables `node_events` and `event_ids`.
    Report(Box<ReportRecord>),
    /// Table `idempotency_keys`.
    Key(KeyRecord),
    /// Table `alerts`.
    Alert(AlertRecord),
    /// A table of sessions.
    Frames(FrameChange),
    /// A table of the pool.
    Pool(PoolChange),
    /// A table of accounts.
    Accounts(AccountChange),
    /// Table `schedules`.
    Schedule(Box<ScheduleRecord>),
    /// Table `schedules`: the row is gone.
    ScheduleGone(ScheduleId),
}

/// A job.
#[derive(Clone, Debug, PartialEq)]
pub struct JobRecord {
    pub id: JobId,
    /// Its age among all jobs: smaller is older.
    pub seq: u64,
    pub queue: Name,
    pub status: JobStatus,
    /// Share of its devices that were done (Q7b).
    pub outcome: JobOutcome,
    pub scope: Scope,
    /// Attempts per task.
    pub max_attempts: u16,
    /// Tasks created so far.
    pub tasks: u32,
    /// True if a live task may still belong to it; closed jobs are not loaded.
    pub open: bool,
    pub created_at: Timestamp,
    /// Time when it became active.
    pub started_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// Reason why it failed.
    pub error: Option<Box<str>>,
    /// Present when the job is first written, and in what a store answers; `None` leaves it as it is.
    pub payload: Option<JobPayload>,
}

/// A task: the single truth about one unit of work on one device (Q1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskRecord {
    pub id: TaskId,
    /// The worker that has or last had it.
    pub worker: Name,
    pub lane: Name,
    pub status: TaskStatus,
    /// Attempts made, the live one included.
    pub attempt: u16,
    /// Attempts in all.
    pub max_attempts: u16,
    /// Error of the last attempt.
    pub error: Option<Box<str>>,
    /// JSON text its worker left.
    pub result: Option<Box<str>>,
    /// Of the last attempt.
    pub fence: Fence,
    pub lease: LeaseKind,
    /// Time when the live lease ends.
    pub lease_until: Option<Timestamp>,
    pub created_at: Timestamp,
    /// Time when the last attempt was granted.
    pub started_at: Option<Timestamp>,
    /// Time when the last attempt was confirmed.
    pub confirmed_at: Option<Timestamp>,
    /// Time when the live attempt has taken too long.
    pub timeout_at: Option<Timestamp>,
    pub completed_at: Option<Timestamp>,
    /// True if any attempt of it ended by timeout.
    pub timed_out: bool,
    /// Records it has in the log.
    pub logs: u32,
}

/// A device.
#[derive(Clone, Debug, PartialEq)]
pub struct LaneRecord {
    /// The immutable serial.
    pub id: Name,
    /// The worker it is attached to.
    pub worker: Name,
    /// Whatever reaches it now.
    pub handle: Name,
    /// Attachment that its worker last reported.
    pub attachment: Attachment,
    /// Status as outsiders see it.
    pub status: LaneStatus,
    /// Taken out of service.
    pub failed: bool,
    pub labels: Labels,
    /// Since when it is not usable.
    pub offline_since: Option<Timestamp>,
    /// Note of the operator who last returned it to service.
    pub note: Option<Box<str>>,
    /// Time when it was first seen.
    pub created_at: Timestamp,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerRecord {
    pub id: Name,
    /// True if we heard of it lately.
    pub status: WorkerStatus,
    pub status_since: Timestamp,
    /// Its own cap of live leases.
    pub cap: Option<u32>,
    /// Gets no more work.
    pub draining: bool,
    /// Supply rests until then.
    pub paused_until: Option<Timestamp>,
    /// Its presence leases live at least until then.
    pub lease_until: Timestamp,
    /// The last sign of life that was written down.
    pub last_seen: Timestamp,
    /// Since when its heartbeat counts as missing although it is online (N8c).
    pub heartbeat_late_since: Option<Timestamp>,
    /// Time when it was first seen.
    pub created_at: Timestamp,
}

/// One job's part at one worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShareRecord {
    pub worker: Name,
    pub job: JobId,
    /// The first task handed out there.
    pub first: TaskId,
    /// Nothing more to come.
    pub finished: bool,
    /// Outcomes of its tasks.
    pub counts: ShareCounts,
}

/// Outcomes of the tasks of a share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShareCounts {
    pub completed: u32,
    /// Tasks that failed for good.
    pub failed: u32,
    /// Attempts that failed, timeouts included.
    pub failed_attempts: u32,
}

/// A secret that grants access for one worker; only its SHA-256 is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretRecord {
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    /// `None`: until replaced.
    pub valid_until: Option<Timestamp>,
}

words! {
    /// The stations of an attempt (Q12).
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum LogKind {
        /// The task came into being.
        Created = "CREATED",
        /// An attempt was handed out.
        Sent = "SENT",
        /// Its worker confirmed it.
        Acked = "ACKED",
        /// It ended well.
        Succeeded = "SUCCEEDED",
        /// It ended badly.
        Failed = "FAILED",
        /// It took too long, or its lease ran out.
        Timeout = "TIMEOUT",
        /// Another attempt will follow.
        RetryScheduled = "RETRY_SCHEDULED",
        /// None will.
        FailedFinal = "FAILED_FINAL",
    }
}

impl LogKind {
    /// The value of `execution_logs.level`.
    #[must_use]
    pub const fn level(self) -> &'static str {
        match self {
            Self::Created | Self::Sent | Self::Acked | Self::Succeeded => "info",
            Self::RetryScheduled => "warn",
            Self::Failed | Self::Timeout | Self::FailedFinal => "error",
        }
    }
}

/// One station of one attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRecord {
    pub task: TaskId,
    /// Counts up from 1 within the task.
    pub seq: u32,
    /// Of which attempt; 0 for a task that was closed before it had one.
    pub attempt: u16,
    pub kind: LogKind,
    /// More, for people.
    pub message: Option<Box<str>>,
    pub at: Timestamp,
}

words! {
    /// The kinds of changes in a worker's life. Column `pc_logs.event_type`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum WorkerLogKind {
        /// The coordinator knows it from now on.
        Enrolled = "enrolled",
        /// It spoke again.
        Online = "online",
        /// It fell silent.
        Offline = "offline",
        /// It gets no more work.
        Draining = "draining",
        /// It gets work again.
        Resumed = "resumed",
        /// It gets no work for a while.
        Paused = "paused",
        /// The pause ended.
        Supplied = "supplied",
        /// The number of its devices that may work at once was changed.
        Capped = "capped",
        /// It got a new secret.
        SecretRotated = "secret_rotated",
        /// It is online, but its heartbeat is missing (N8c).
        HeartbeatLate = "heartbeat_late",
        /// Its heartbeat is back.
        HeartbeatBack = "heartbeat_back",
    }
}

/// A change in a worker's life (N15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerLogRecord {
    pub worker: Name,
    pub kind: WorkerLogKind,
    pub at: Timestamp,
}

/// A report as it was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportRecord {
    /// The sender's id for it.
    pub id: ReportId,
    /// Recognises a repeat (N5).
    pub subject: ReportSubject,
    /// The sender.
    pub worker: Name,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// Its effect: `Applied` or `Stale`.
    pub effect: Recorded,
    /// The whole message as JSON text.
    pub body: Arc<str>,
    /// Time when it was taken.
    pub at: Timestamp,
}

/// A submission's key and what came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    pub key: SubmissionKey,
    /// Of the body.
    pub digest: Digest,
    /// The job it made.
    pub job: JobId,
    /// Reply to the sender: a repeat gets the same.
    pub status: JobStatus,
    pub at: Timestamp,
}

/// Something people should look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlertRecord {
    /// Derived from the seed: unique.
    pub id: u128,
    pub kind: AlertKind,
    /// The worker it concerns.
    pub worker: Name,
    /// The job it concerns.
    pub job: Option<JobId>,
    /// Description in a sentence.
    pub message: Box<str>,
    pub at: Timestamp,
}

words! {
    /// The sorts of alerts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum AlertKind {
        /// Many devices of one worker vanished at once (N17).
        MassDropout = "mass_dropout",
        /// A worker's summary of its share is unlike the rows (N8b).
        SummaryMismatch = "summary_mismatch",
        /// A completion named a chunk that is not its own (S17).
        ChunkIntegrity = "chunkIntegrity",
        /// Two workers report the same devices (N1b).
        DeviceContested = "device_contested",
        /// Two different events came under one id (N5).
        EventConflict = "event_conflict",
        /// A worker is online, but its heartbeat is missing (N8c).
        HeartbeatLate = "heartbeat_late",
        /// A removed simulation worker does not answer (S6).
        WorkerZombie = "worker_zombie",
        /// A session was completed without some of its frames (S23b, S26b).
        FramesSkipped = "frames_skipped",
    }
}
