//! What one task of a court waits for, in a code, a sentence and data (Q16).

mod cause;

use super::{
    sentence,
    stuck::{Findings, Visit, general_role, is_begun, running},
    timeline,
    timeline::planned_task,
};
use crate::{
    Document, Fault, Folder, Id, Kind, Place,
    config::{Court, Executor, General},
    file::{Priority, instant},
    roles::chamberlain::Colour,
};
use cause::CourtCause;
use jiff::Timestamp;
use muster_explain::{Finding, Why};

/// Says what a task, or an event that is none yet, waits for; nothing where no file of the court has the id.
pub fn why(folder: &Folder, court: &Court, id: &Id, now: Timestamp) -> Result<Option<Why>, Fault> {
    let look = Look { visit: Visit::new(folder, court, now) };
    let Some((cause, task)) = look.cause(id)? else { return Ok(None) };
    let mut data = cause.data();
    if task != *id {
        data["court_task_id"] = task.as_str().into();
    }
    let now = muster_model::Timestamp(now.as_millisecond());
    let (rule, code) = cause.rule_and_code();
    Ok(Some(Why::new("court_task", id.to_string(), Finding { rule, code, data }, now)))
}

struct Look<'a> {
    visit: Visit<'a>,
}

impl Look<'_> {
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

/// What a file says, made fit for a sentence.
fn said(document: &Document, key: &str) -> Option<String> {
    document.text(key).filter(|text| !text.is_empty()).map(|text| sentence(&text))
}

#[cfg(test)]
mod tests;
