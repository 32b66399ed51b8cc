//! What may hold a task of a court back.
#![allow(missing_docs, reason = "the fields are named for what they hold")]

use jiff::Timestamp;
use serde_json::{Value, json};

/// What holds a task, or an event that is none yet, back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum CourtCause {
    /// Nobody makes events tasks, or ends them.
    NoKing,
    /// The king has not looked at the event yet.
    EventUntaken,
    /// The host has no room for events of this priority.
    HostBusy { health: &'static str, priority: &'static str },
    /// Nobody has looked at the host lately.
    HostUnwatched,
    /// The event is over and was made no task.
    EventOver { status: String, reason: Option<String> },
    /// The event was made a task that is nowhere.
    TaskMissing,
    /// Nobody is of the name that the task is for.
    NoGeneral { general: String },
    /// Its general is not running.
    GeneralStopped { general: String },
    /// Its general has as many soldiers out as it may.
    SoldiersBusy { general: String, soldiers: usize },
    /// Its general has not taken it yet.
    TaskUntaken { general: String },
    /// A soldier is at it.
    SoldierWorking { general: String, attempt: u64, since: Option<Timestamp> },
    /// A soldier is at it, and has shown no sign of life for longer than it may.
    SoldierSilent { attempt: u64, since: Timestamp },
    /// A fleet of the coordinator is at it.
    FleetWorking { fleet: String, id: String },
    /// It is being handed to the coordinator.
    FleetAsked,
    /// Its last attempt failed; the next comes after a pause.
    RetryWaits { attempt: u64, error: Option<String> },
    /// Its result is there, and the king has not closed it yet.
    ResultUnclosed,
    /// It asked something that nobody has answered.
    QuestionOpen { question: String, since: Option<Timestamp> },
    /// Its question was answered; another task goes on with it.
    QuestionAnswered { task: Option<String> },
    /// It is done.
    TaskCompleted { summary: Option<String> },
    /// It was tried and not done.
    TaskFailed { error: Option<String> },
    /// There was nothing to do.
    TaskSkipped { reason: Option<String> },
    /// Its file cannot be read.
    Unreadable { error: String },
}

impl CourtCause {
    /// The rule that says so and the code scripts match on.
    pub(super) const fn rule_and_code(&self) -> (&'static str, &'static str) {
        match self {
            Self::NoKing => ("C13", "court_no_king"),
            Self::EventUntaken => ("C13", "court_event_untaken"),
            Self::HostBusy { .. } => ("C19", "court_host_busy"),
            Self::HostUnwatched => ("C19", "court_host_unwatched"),
            Self::EventOver { .. } => ("C13", "court_event_over"),
            Self::TaskMissing => ("C6", "court_task_missing"),
            Self::NoGeneral { .. } => ("C13", "court_no_general"),
            Self::GeneralStopped { .. } => ("C5", "court_general_stopped"),
            Self::SoldiersBusy { .. } => ("C16", "court_soldiers_busy"),
            Self::TaskUntaken { .. } => ("C16", "court_task_untaken"),
            Self::SoldierWorking { .. } => ("C16", "court_soldier_working"),
            Self::SoldierSilent { .. } => ("C16", "court_soldier_silent"),
            Self::FleetWorking { .. } => ("C17", "court_fleet_working"),
            Self::FleetAsked => ("C17", "court_fleet_asked"),
            Self::RetryWaits { .. } => ("C16", "court_retry_waits"),
            Self::ResultUnclosed => ("C14", "court_result_unclosed"),
            Self::QuestionOpen { .. } => ("C14", "court_question_open"),
            Self::QuestionAnswered { .. } => ("C14", "court_question_answered"),
            Self::TaskCompleted { .. } => ("C14", "court_task_completed"),
            Self::TaskFailed { .. } => ("C14", "court_task_failed"),
            Self::TaskSkipped { .. } => ("C14", "court_task_skipped"),
            Self::Unreadable { .. } => ("C12", "court_file_unreadable"),
        }
    }

    /// What it refers to.
    pub(super) fn data(&self) -> Value {
        let moment = |since: &Option<Timestamp>| since.map(Timestamp::as_millisecond);
        let mut data = match self {
            Self::HostBusy { health, priority } => json!({"health": health, "priority": priority}),
            Self::EventOver { status, reason } => json!({"status": status, "reason": reason}),
            Self::NoGeneral { general }
            | Self::GeneralStopped { general }
            | Self::TaskUntaken { general } => {
                json!({"general": general})
            }
            Self::SoldiersBusy { general, soldiers } => json!({"general": general, "soldiers": soldiers}),
            Self::SoldierWorking { general, attempt, since } => {
                json!({"general": general, "attempt": attempt, "since": moment(since)})
            }
            Self::SoldierSilent { attempt, since } => {
                json!({"attempt": attempt, "since": since.as_millisecond()})
            }
            Self::FleetWorking { fleet, id } => match fleet.as_str() {
                "run" | "session" | "job" => json!({ format!("{fleet}_id"): id }),
                _ => json!({}),
            },
            Self::RetryWaits { attempt, error } => json!({"attempt": attempt, "error": error}),
            Self::QuestionOpen { question, since } => json!({"question": question, "since": moment(since)}),
            Self::QuestionAnswered { task } => json!({"court_task_id": task}),
            Self::TaskCompleted { summary } => json!({"summary": summary}),
            Self::TaskFailed { error } => json!({"error": error}),
            Self::TaskSkipped { reason } => json!({"reason": reason}),
            Self::Unreadable { error } => json!({"error": error}),
            Self::NoKing
            | Self::EventUntaken
            | Self::HostUnwatched
            | Self::TaskMissing
            | Self::FleetAsked
            | Self::ResultUnclosed => json!({}),
        };
        if let Value::Object(members) = &mut data {
            members.retain(|_, value| !value.is_null());
        }
        data
    }
}
