//! The words that stand in the tables for what the model has types for, both ways.

use muster_model::{
    AlertKind, Attachment, ChunkState, DiagnosticKind, FrameTaskStatus, JobOutcome, JobStatus, LaneStatus,
    LeaseKind, LogKind, Recorded, Removal, RendererState, Role, Roles, SessionStatus, TaskStatus,
    WorkerStatus,
};

/// `tasks.status`, read.
pub(crate) fn parse_job_status(word: &str) -> Option<JobStatus> {
    use JobStatus::{Cancelled, Failed, Pending, Running, Success};
    [Pending, Running, Success, Failed, Cancelled].into_iter().find(|status| status.as_str() == word)
}

/// `tasks.outcome`, read.
pub(crate) fn parse_job_outcome(word: &str) -> Option<JobOutcome> {
    JobOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == word)
}

/// `task_devices.status`, read.
pub(crate) fn parse_task_status(word: &str) -> Option<TaskStatus> {
    use TaskStatus::{Cancelled, Completed, Failed, Pending, Running};
    [Completed, Running, Pending, Failed, Cancelled].into_iter().find(|status| status.as_str() == word)
}

/// `task_devices.lease_kind`.
pub(crate) const fn lease_kind(kind: LeaseKind) -> &'static str {
    match kind {
        LeaseKind::Presence => "presence",
        LeaseKind::Claim => "claim",
    }
}

/// `task_devices.lease_kind`, read.
pub(crate) fn parse_lease_kind(word: &str) -> Option<LeaseKind> {
    [LeaseKind::Presence, LeaseKind::Claim].into_iter().find(|kind| lease_kind(*kind) == word)
}

/// `devices.status`, read.
pub(crate) fn parse_lane_status(word: &str) -> Option<LaneStatus> {
    [LaneStatus::Online, LaneStatus::Offline, LaneStatus::Error]
        .into_iter()
        .find(|status| status.as_str() == word)
}

/// `devices.attachment`, read.
pub(crate) fn parse_attachment(word: &str) -> Option<Attachment> {
    use Attachment::{Absent, Error, Offline, Online, Unauthorized};
    [Online, Offline, Unauthorized, Error, Absent].into_iter().find(|kind| kind.as_str() == word)
}

/// `pcs.status`, read.
pub(crate) fn parse_worker_status(word: &str) -> Option<WorkerStatus> {
    [WorkerStatus::Online, WorkerStatus::Offline].into_iter().find(|status| status.as_str() == word)
}

/// `execution_logs.event_type`, read.
pub(crate) fn parse_log_kind(word: &str) -> Option<LogKind> {
    use LogKind::{Acked, Created, Failed, FailedFinal, RetryScheduled, Sent, Succeeded, Timeout};
    [Created, Sent, Acked, Succeeded, Failed, Timeout, RetryScheduled, FailedFinal]
        .into_iter()
        .find(|kind| kind.as_str() == word)
}

/// `pc_logs.event_type`, read: the word the model uses for it.
pub(crate) fn parse_worker_log_kind(word: &str) -> Option<&'static str> {
    const KINDS: [&str; 11] = [
        "enrolled",
        "online",
        "offline",
        "draining",
        "resumed",
        "paused",
        "supplied",
        "capped",
        "secret_rotated",
        "heartbeat_late",
        "heartbeat_back",
    ];
    KINDS.into_iter().find(|kind| *kind == word)
}

/// `alerts.kind`, read.
pub(crate) fn parse_alert_kind(word: &str) -> Option<AlertKind> {
    AlertKind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

/// `node_events.effect`.
pub(crate) const fn effect(effect: Recorded) -> &'static str {
    match effect {
        Recorded::Applied => "applied",
        Recorded::Duplicate => "duplicate",
        Recorded::Stale => "stale",
    }
}

/// `sim_workers.state`, `sim_transitions.from_state` and `to_state`, read.
pub(crate) fn parse_renderer_state(word: &str) -> Option<RendererState> {
    RendererState::ALL.into_iter().find(|state| state.as_str() == word)
}

/// `sim_sessions.status`, read.
pub(crate) fn parse_session_status(word: &str) -> Option<SessionStatus> {
    SessionStatus::ALL.into_iter().find(|status| status.as_str() == word)
}

/// `sim_tasks.status`, read.
pub(crate) fn parse_frame_task_status(word: &str) -> Option<FrameTaskStatus> {
    FrameTaskStatus::ALL.into_iter().find(|status| status.as_str() == word)
}

/// `sim_workers.removal`, read.
pub(crate) fn parse_removal(word: &str) -> Option<Removal> {
    Removal::ALL.into_iter().find(|removal| removal.as_str() == word)
}

/// `sim_diagnostics.kind`, read.
pub(crate) fn parse_diagnostic_kind(word: &str) -> Option<DiagnosticKind> {
    DiagnosticKind::ALL.into_iter().find(|kind| kind.as_str() == word)
}

/// `sim_chunks.state`, read.
pub(crate) fn parse_chunk_state(word: &str) -> Option<ChunkState> {
    ChunkState::ALL.into_iter().find(|state| state.as_str() == word)
}

/// `users.roles` and `api_keys.scopes`: words with a space between.
pub(crate) fn roles(roles: Roles) -> String {
    roles.iter().map(Role::as_str).collect::<Vec<_>>().join(" ")
}

/// `users.roles` and `api_keys.scopes`, read.
pub(crate) fn parse_roles(words: &str) -> Option<Roles> {
    words.split_whitespace().map(Role::from_word).collect()
}
