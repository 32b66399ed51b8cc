//! Explains what a task of a court waits for: a code, a sentence and data (Q16).

use super::{
    sentence,
    stuck::{Findings, Visit, general_role, is_begun, running},
    timeline::{planned_task, timeline},
};
use crate::{
    Document, Fault, Folder, Id, Kind, Place,
    config::{Court, Executor, General},
    file::{Priority, instant},
    roles::chamberlain::Colour,
};
use jiff::Timestamp;
use muster_explain::{Finding, Why};
use serde_json::{Value, json};

/// Says what a task, or an event that is none yet, waits for; nothing where no file of the court has the id.
pub fn why(folder: &Folder, court: &Court, id: &Id, now: Timestamp) -> Result<Option<Why>, Fault> {
    let explainer = Explainer { visit: Visit::new(folder, court, now) };
    let Some((cause, task)) = explainer.cause(id)? else { return Ok(None) };
    let mut data = cause.data();
    if task != *id {
        data["court_task_id"] = task.as_str().into();
    }
    let now = muster_model::Timestamp(now.as_millisecond());
    let (rule, code) = cause.rule_and_code();
    Ok(Some(Why::new("court_task", id.to_string(), Finding { rule, code, data }, now)))
}

struct Explainer<'a> {
    visit: Visit<'a>,
}

impl Explainer<'_> {
    /// The cause, and the task it is about.
    fn cause(&self, id: &Id) -> Result<Option<(CourtCause, Id)>, Fault> {
        let folder = self.visit.folder;
        if let Some(place) = folder.find(Kind::Task, id) {
            return Ok(self.task(place, id)?.map(|cause| (cause, id.clone())));
        }
        let Some(place) = folder.find(Kind::Event, id) else { return Ok(None) };
        let event = match folder.read(place, id) {
            Ok(event) => event,
            Err(fault) => return Ok(unreadable(&fault).map(|cause| (cause, id.clone()))),
        };
        let Some(task) = planned_task(&event) else {
            return Ok(Some((self.event(place, &event), id.clone())));
        };
        let cause = match folder.find(Kind::Task, &task) {
            Some(place) => self.task(place, &task)?,
            None if place == Place::EventsPending => Some(self.event(place, &event)),
            None => Some(CourtCause::TaskMissing),
        };
        Ok(cause.map(|cause| (cause, task)))
    }

    fn event(&self, place: Place, event: &Document) -> CourtCause {
        let (visit, priority) = (&self.visit, Priority::of(event));
        if place == Place::EventsCompleted || event.has("outcome") {
            let status =
                sentence(&event.text("outcome").or_else(|| event.text("status")).unwrap_or_default());
            return CourtCause::EventOver { status, reason: said(event, "reason") };
        }
        if !visit.is_running("king") {
            return CourtCause::NoKing;
        }
        if is_begun(event) || visit.colour.accepts(priority) {
            return CourtCause::EventUntaken;
        }
        if visit.colour == Colour::Orange && !visit.is_running("chamberlain") {
            return CourtCause::HostUnwatched;
        }
        CourtCause::HostBusy { health: visit.colour.word(), priority: priority.word() }
    }

    fn task(&self, place: Place, id: &Id) -> Result<Option<CourtCause>, Fault> {
        let task = match self.visit.folder.read(place, id) {
            Ok(task) => task,
            Err(fault) => return Ok(unreadable(&fault)),
        };
        Ok(Some(match place {
            Place::TasksCompleted => self.ended(id, &task),
            Place::TasksInProgress if self.visit.folder.has(Place::Results, id) => self.unclosed(),
            _ => match self.general_of(&task) {
                Err(cause) => cause,
                Ok(general) if place == Place::TasksPending => self.pending(general)?,
                Ok(general) => self.in_progress(id, &task, general),
            },
        }))
    }

    fn unclosed(&self) -> CourtCause {
        if self.visit.is_running("king") { CourtCause::ResultUnclosed } else { CourtCause::NoKing }
    }

    fn general_of(&self, task: &Document) -> Result<&General, CourtCause> {
        let general = task.text("target_general").unwrap_or_default();
        let Some(found) = self.visit.court.generals.get(&general) else {
            return Err(CourtCause::NoGeneral { general: sentence(&general) });
        };
        let is_running = self.visit.is_running(&general_role(&general));
        is_running.then_some(found).ok_or(CourtCause::GeneralStopped { general })
    }

    fn pending(&self, general: &General) -> Result<CourtCause, Fault> {
        let busy = self.visit.in_progress(&mut Findings::default())?;
        let (name, soldiers) = (general.name.clone(), general.max_soldiers);
        Ok(match self.visit.has_free_soldier(&name, &busy) {
            true => CourtCause::TaskUntaken { general: name },
            false => CourtCause::SoldiersBusy { general: name, soldiers },
        })
    }

    fn in_progress(&self, id: &Id, task: &Document, general: &General) -> CourtCause {
        let name = general.name.clone();
        let Some(attempt) = running(task) else {
            return match task.objects("attempts").last() {
                Some(last) => CourtCause::RetryWaits {
                    attempt: last.number("attempt").unwrap_or_default(),
                    error: said(last, "error"),
                },
                None => CourtCause::TaskUntaken { general: name },
            };
        };
        if let Some(remote) = attempt.object("remote") {
            let text = |key| sentence(&remote.text(key).unwrap_or_default());
            return CourtCause::FleetWorking { fleet: text("kind"), id: text("id") };
        }
        if general.executor != Executor::Command {
            return CourtCause::FleetAsked;
        }
        let number = attempt.number("attempt").unwrap_or_default();
        let since = attempt.text("started_at").and_then(|text| instant(&text));
        match self.visit.silent_since(id, &attempt, general) {
            Some(since) => CourtCause::SoldierSilent { attempt: number, since },
            None => CourtCause::SoldierWorking { general: name, attempt: number, since },
        }
    }

    fn ended(&self, id: &Id, task: &Document) -> CourtCause {
        let folder = self.visit.folder;
        let result = folder.read(Place::Results, id).unwrap_or_default();
        match task.text("status").as_deref() {
            Some("needs_human") => match folder.read(Place::QuestionsOpen, id) {
                Ok(question) => CourtCause::QuestionOpen {
                    question: said(&question, "question").unwrap_or_default(),
                    since: question.text("asked_at").and_then(|text| instant(&text)),
                },
                Err(_) => CourtCause::QuestionAnswered {
                    task: timeline(folder, id).and_then(|story| story.resumed_by.into_iter().next()),
                },
            },
            Some("failed") => CourtCause::TaskFailed { error: said(&result, "error") },
            Some("skipped") => CourtCause::TaskSkipped { reason: said(&result, "reason") },
            _ => CourtCause::TaskCompleted { summary: said(&result, "summary") },
        }
    }
}

fn unreadable(fault: &Fault) -> Option<CourtCause> {
    match fault {
        // It has moved on since; whoever asks again finds it there.
        Fault::Gone(_) => None,
        fault => Some(CourtCause::Unreadable { error: sentence(&fault.to_string()) }),
    }
}

/// A text of a file, on one line and short enough for a sentence.
fn said(document: &Document, key: &str) -> Option<String> {
    document.text(key).filter(|text| !text.is_empty()).map(|text| sentence(&text))
}

/// The cause that holds back a task, or an event that has no task yet.
#[derive(Clone, Debug, PartialEq, Eq)]
enum CourtCause {
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
    const fn rule_and_code(&self) -> (&'static str, &'static str) {
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

    /// The data of the explanation.
    fn data(&self) -> Value {
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

#[cfg(test)]
mod tests;
