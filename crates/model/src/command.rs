//! Commands.
#![allow(missing_docs, reason = "fields whose names say what they hold have no words of their own")]

use crate::{
    AccountCommand, Attachment, Digest, Fence, FrameCommand, JobId, Labels, Millis, Name, Outcome,
    PoolCommand, ReportId, ScheduleCommand, ScheduleId, Scope, Step, SubmissionKey, TaskId, Timestamp,
};
use alloc::{boxed::Box, sync::Arc, vec::Vec};

/// One request to the engine; it answers with what became true, or with a rejection.
#[derive(Clone, Debug)]
pub enum Command {
    /// Take a new job into its queue (Q15).
    Submit(Box<Submission>),
    /// End a job on request (Q7).
    Cancel { job: JobId },
    /// A worker reports its devices and asks for work (N1).
    Pull(Pull),
    /// A worker sent its heartbeat (N8).
    Heartbeat { worker: Name },
    /// A worker reports what happened (N4).
    Report(Box<Report>),
    /// Workers send several messages at once; each is decided as if it had come alone, in order (N25).
    ReportBatch(ReportBatch),
    /// A worker takes tasks as confirmed, each lease to be renewed by itself (Q14).
    Claim {
        worker: Name,
        /// At most so many.
        max: u32,
        /// Duration of each lease.
        lease: Millis,
    },
    /// Prolong one lease (Q14).
    Renew {
        /// The leased task.
        task: TaskId,
        /// Holder that it must have.
        worker: Name,
        /// Duration from now.
        lease: Millis,
    },
    /// End a running task well (Q14).
    Complete {
        task: TaskId,
        /// Holder that it must have, if the caller named one.
        worker: Option<Name>,
        /// JSON text kept with the task.
        result: Option<Box<str>>,
    },
    /// End a running attempt badly (Q14).
    FailOrRetry {
        task: TaskId,
        /// Holder that it must have, if the caller named one.
        worker: Option<Name>,
        /// Text for people.
        error: Option<Box<str>>,
    },
    /// Do what is due.
    Tick,
    /// Do what is due and say how much ended by it (Q14).
    Sweep,
    /// Replace a device's labels (Q15).
    Label {
        lane: Name,
        /// All of its labels from now on.
        labels: Labels,
    },
    /// Put a device back into service (Q11).
    ReturnToService {
        lane: Name,
        /// Reason why the operator thinks it is well again.
        note: Option<Box<str>>,
    },
    /// Give a worker no more work (Q15).
    Drain { worker: Name },
    /// Give a drained worker work again (Q15).
    Resume { worker: Name },
    /// Set how many live leases a worker may hold (Q3).
    SetCap {
        worker: Name,
        /// `None`: the general setting.
        cap: Option<u32>,
    },
    /// Give a worker a secret of its own; the one before stays valid for a while (Q15).
    RotateSecret {
        worker: Name,
        /// SHA-256 of the new secret.
        hash: [u8; 32],
    },
    /// Whatever concerns sessions of frames (contract S).
    Frames(FrameCommand),
    /// Whatever concerns the pool (contract P).
    Pool(PoolCommand),
    /// Whatever concerns users, logins and keys (P1, I7).
    Accounts(AccountCommand),
    /// Whatever concerns schedules (Q17).
    Schedules(ScheduleCommand),
}

from_contents!(Command: Frames(FrameCommand), Pool(PoolCommand), Accounts(AccountCommand), Schedules(ScheduleCommand));

/// A job as a client hands it in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Submission {
    /// Recognises a repeat.
    pub key: Option<SubmissionKey>,
    /// Of the body, to tell a repeat from a mistake.
    pub digest: Digest,
    /// One job at a time is active per queue.
    pub queue: Name,
    pub scope: Scope,
    /// Attempts per task; `None`: the general setting.
    pub max_attempts: Option<u16>,
    /// Content that the engine does not look into.
    pub payload: JobPayload,
}

/// The part of a job that only stores, workers and people read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobPayload {
    /// For people.
    pub title: Option<Box<str>>,
    /// Workflow that the agent runs.
    pub workflow: Box<str>,
    /// JSON text for the workflow.
    pub params: Box<str>,
    /// Limit of the agent's time for one task.
    pub timeout: Option<Millis>,
    /// The schedule that submitted it (Q17).
    pub schedule: Option<ScheduleId>,
}

/// A worker's request for work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pull {
    pub worker: Name,
    /// At most so many jobs; 0 is a mere report.
    pub max: u32,
    /// All devices attached there now; `None`: no report.
    pub devices: Option<Vec<DeviceReport>>,
}

/// One device as its worker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceReport {
    /// The immutable serial.
    pub device: Name,
    /// Whatever reaches it now.
    pub handle: Name,
    pub attachment: Attachment,
}

/// An idempotent message from an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// The sender's id for it.
    pub id: ReportId,
    /// The sender.
    pub worker: Name,
    /// By the sender's clock.
    pub at: Timestamp,
    /// The whole message as JSON text, fields we do not know included.
    pub body: Arc<str>,
    pub kind: ReportKind,
}

/// Messages of workers that are decided together, in order (N25).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportBatch {
    pub messages: Vec<WorkerMessage>,
}

/// One message of a batch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerMessage {
    /// An idempotent report (N4).
    Report(Box<Report>),
    /// A sign of life (N8).
    Heartbeat { worker: Name },
}

impl WorkerMessage {
    /// The sender.
    #[must_use]
    pub const fn worker(&self) -> &Name {
        match self {
            Self::Report(report) => &report.worker,
            Self::Heartbeat { worker } => worker,
        }
    }
}

/// The type of a report and what it is about. Two reports with one id are the same report if their subjects are equal (N5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReportSubject {
    pub kind: ReportType,
    /// The job it is about.
    pub job: JobId,
    /// The task of that job; 0 for a report about the job itself.
    pub ordinal: u32,
}

words! {
    /// The types of reports.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum ReportType {
        /// N9.
        RunStarted = "run_started",
        /// N14.
        RunFinished = "run_finished",
        /// N10.
        TaskStarted = "task_started",
        /// N11.
        TaskProgress = "task_progress",
        /// N12.
        TaskFinished = "task_finished",
    }
}

impl Report {
    /// The subject of the report.
    #[must_use]
    pub const fn subject(&self) -> ReportSubject {
        let (kind, job, ordinal) = match &self.kind {
            ReportKind::RunStarted { job } => (ReportType::RunStarted, *job, 0),
            ReportKind::RunFinished { job, .. } => (ReportType::RunFinished, *job, 0),
            ReportKind::Task(about) => {
                let kind = match about.kind {
                    TaskReportKind::Started => ReportType::TaskStarted,
                    TaskReportKind::Progress(_) => ReportType::TaskProgress,
                    TaskReportKind::Finished { .. } => ReportType::TaskFinished,
                };
                (kind, about.task.job, about.task.ordinal)
            }
        };
        ReportSubject { kind, job, ordinal }
    }
}

/// Content of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// The node began its share of a job (N9).
    RunStarted { job: JobId },
    /// The node ended its share of a job (N14).
    RunFinished {
        job: JobId,
        /// Its count of how tasks ended.
        summary: RunSummary,
    },
    /// Something about one task.
    Task(TaskReport),
}

/// A node's own count of its share (N14).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunSummary {
    /// Tasks that went well.
    pub succeeded: u64,
    /// Tasks that did not.
    pub failed: u64,
    /// Those among the failed that took too long.
    pub timeout: u64,
}

/// A report about one task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskReport {
    /// Its job, as the sender believes.
    pub job: JobId,
    pub task: TaskId,
    /// Its device, as the sender believes.
    pub lane: Name,
    /// The attempt it speaks of, where told (N6b).
    pub attempt: Option<u16>,
    /// The fence of that attempt, where told (N6b).
    pub fence: Option<Fence>,
    /// Event that is reported.
    pub kind: TaskReportKind,
}

/// Event in the life of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskReportKind {
    /// It began on the device (N10).
    Started,
    /// It is at a step (N11).
    Progress(Step),
    /// It is over (N12).
    Finished {
        /// `Succeeded` or `Failed`.
        outcome: Outcome,
        /// Time when it began, by the sender's clock.
        started_at: Timestamp,
        /// JSON text kept with the task.
        result: Option<Box<str>>,
    },
}
