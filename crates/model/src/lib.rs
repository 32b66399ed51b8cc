//! The nouns of Muster: what is asked, what became true, what is kept.
//!
//! One word per concept. A contract's own words (run, session, `task_device`, PC) live in that
//! contract's dialect and in the names of tables, never here. This crate knows no clock, no IO, no
//! serialisation: every other room may depend on it, it depends on none.
#![no_std]
extern crate alloc;

#[macro_use]
mod word;

mod accounts;
pub mod ask;
mod command;
mod event;
mod explanation;
mod fact;
mod frames;
mod id;
mod id_text;
mod pool;
mod record;
mod reply;
mod schedule;
mod settings;
mod task;
mod text;
mod time;
mod worker;

pub use accounts::{
    AccountChange, AccountCommand, AccountEvent, AccountRejection, AccountReply, Actor, ApiKeyRecord,
    AuditRecord, LoginRecord, Role, Roles, UserChange, UserRecord,
};
pub use ask::Ask;
pub use command::{
    Command, DeviceReport, JobPayload, Pull, Report, ReportBatch, ReportKind, ReportSubject, ReportType,
    RunSummary, Submission, TaskReport, TaskReportKind, WorkerMessage,
};
pub use event::{Event, Grant, Recorded};
pub use explanation::{Cause, Explanation, FrameCause, MemberCause, PoolCause, Subject};
pub use fact::{Fact, Facts, Key};
pub use frames::{
    Beat, ChunkRecord, ChunkState, ClosedSession, Completion, CompletionReply, DiagnosticKind,
    DiagnosticRecord, Effect, EntryId, FarmRecord, FrameChange, FrameCommand, FrameEvent, FrameHandout,
    FrameQuery, FrameRange, FrameRejection, FrameReply, FrameTaskId, FrameTaskRecord, FrameTaskStatus,
    FrameView, Heartbeat, Held, IdRange, LiveTask, Order, Pressure, Progress, QuarantineKind,
    QuarantineRecord, RangeEnd, RangeGrant, Ratio, Registration, RegistrationReply, Removal, RendererRecord,
    RendererState, RendererView, Reopening, ReplayRecord, RetryRequest, SessionId, SessionRecord,
    SessionReply, SessionStatus, SessionSubmission, SessionView, SkippedRange, StatusView, Steering,
    TransitionRecord,
};
pub use id::{
    AssignmentId, Digest, Fence, IdError, JobId, Name, NameError, PoolJobId, PoolWorkerId, ReportId,
    ScheduleId, SubmissionKey, TaskId, UserId, is_unseen,
};
pub use id_text::{HexText, JobText, TaskText};
pub use pool::{
    AssignmentRecord, AssignmentState, BatchPlace, Demand, PoolCancelReply, PoolChange, PoolCommand,
    PoolCounters, PoolEndRecord, PoolEvent, PoolGrant, PoolHandout, PoolJobDraft, PoolJobRecord,
    PoolJobStatus, PoolKeyRecord, PoolRegistration, PoolRejection, PoolReply, PoolResult, PoolStatus,
    PoolSubmission, PoolSubmissionReply, PoolTaken, PoolWork, PoolWorkReply, PoolWorkerRecord,
    PoolWorkerStatus, Quality, Scale, Specs,
};
pub use record::{
    AlertKind, AlertRecord, Change, JobRecord, KeyRecord, LaneRecord, LogKind, LogRecord, ReportRecord,
    SecretRecord, ShareCounts, ShareRecord, TaskRecord, WorkerLogKind, WorkerLogRecord, WorkerRecord,
};
pub use reply::{Handout, JobAnnounced, JobReply, PullReply, Rejection, Reply, SweepReply};
pub use schedule::{
    Missed, ScheduleCommand, ScheduleDraft, ScheduleEvent, ScheduleRecord, ScheduleRejection,
};
pub use settings::{FrameSettings, PoolSettings, Rebind, Settings};
pub use task::{
    FailureReason, JobOutcome, JobStatus, LeaseKind, Outcome, Scope, Step, StepStatus, TaskStatus,
};
pub use time::{Millis, Timestamp};
pub use worker::{Attachment, Labels, LaneStatus, Strangers, WorkerStatus, WorkerSupply};
