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
use muster_explain::{Finding, Why, rows};
use serde_json::{Value, json};

/// Says what a task, or an event that is none yet, waits for; nothing where no file of the court has the id.
pub fn why(folder: &Folder, court: &Court, id: &Id, now: Timestamp) -> Result<Option<Why>, Fault> {
    let visit = Visit::new(folder, court, now);
    let Some((mut finding, task)) = visit.cause(id)? else { return Ok(None) };
    if task != *id {
        finding.data["court_task_id"] = task.as_str().into();
    }
    let now = muster_model::Timestamp(now.as_millisecond());
    Ok(Some(Why::new("court_task", id.to_string(), finding, now)))
}

impl Visit<'_> {
    /// The cause that holds something back, and the task it is about.
    fn cause(&self, id: &Id) -> Result<Option<(Finding, Id)>, Fault> {
        let folder = self.folder;
        if let Some(place) = folder.find(Kind::Task, id) {
            return Ok(self.why_task(place, id)?.map(|cause| (cause, id.clone())));
        }
        let Some(place) = folder.find(Kind::Event, id) else { return Ok(None) };
        let event = match folder.read(place, id) {
            Ok(event) => event,
            Err(fault) => return Ok(unreadable(&fault).map(|cause| (cause, id.clone()))),
        };
        let Some(task) = planned_task(&event) else {
            return Ok(Some((self.why_event(place, &event), id.clone())));
        };
        let cause = match folder.find(Kind::Task, &task) {
            Some(place) => self.why_task(place, &task)?,
            None if place == Place::EventsPending => Some(self.why_event(place, &event)),
            None => Some(finding("court_task_missing", json!({}))),
        };
        Ok(cause.map(|cause| (cause, task)))
    }

    fn why_event(&self, place: Place, event: &Document) -> Finding {
        let priority = Priority::of(event);
        if place == Place::EventsCompleted || event.has("outcome") {
            let status = event.text("outcome").or_else(|| event.text("status")).unwrap_or_default();
            let data = json!({"status": sentence(&status), "reason": said(event, "reason")});
            return finding("court_event_over", data);
        }
        if !self.is_running("king") {
            return finding("court_no_king", json!({}));
        }
        if is_begun(event) || self.colour.accepts(priority) {
            return finding("court_event_untaken", json!({}));
        }
        if self.colour == Colour::Orange && !self.is_running("chamberlain") {
            return finding("court_host_unwatched", json!({}));
        }
        let data = json!({"health": self.colour.as_str(), "priority": priority.as_str()});
        finding("court_host_busy", data)
    }

    fn why_task(&self, place: Place, id: &Id) -> Result<Option<Finding>, Fault> {
        let task = match self.folder.read(place, id) {
            Ok(task) => task,
            Err(fault) => return Ok(unreadable(&fault)),
        };
        Ok(Some(match place {
            Place::TasksCompleted => self.why_ended(id, &task),
            Place::TasksInProgress if self.folder.has(Place::Results, id) => {
                let code = if self.is_running("king") { "court_result_unclosed" } else { "court_no_king" };
                finding(code, json!({}))
            }
            _ => match self.general_of(&task) {
                Err(cause) => cause,
                Ok(general) if place == Place::TasksPending => self.why_pending(general)?,
                Ok(general) => self.why_in_progress(id, &task, general),
            },
        }))
    }

    fn general_of(&self, task: &Document) -> Result<&General, Finding> {
        let name = task.text("target_general").unwrap_or_default();
        let Some(general) = self.court.generals.get(&name) else {
            return Err(finding("court_no_general", json!({"general": sentence(&name)})));
        };
        let is_running = self.is_running(&general_role(&name));
        is_running
            .then_some(general)
            .ok_or_else(|| finding("court_general_stopped", json!({"general": name})))
    }

    fn why_pending(&self, general: &General) -> Result<Finding, Fault> {
        let busy = self.in_progress(&mut Findings::default())?;
        let (name, soldiers) = (&general.name, general.max_soldiers);
        Ok(match self.has_free_soldier(name, &busy) {
            true => finding("court_task_untaken", json!({"general": name})),
            false => finding("court_soldiers_busy", json!({"general": name, "soldiers": soldiers})),
        })
    }

    fn why_in_progress(&self, id: &Id, task: &Document, general: &General) -> Finding {
        let number = |attempt: &Document| attempt.number("attempt").unwrap_or_default();
        let Some(attempt) = running(task) else {
            return match task.objects("attempts").last() {
                Some(last) => {
                    let data = json!({"attempt": number(last), "error": said(last, "error")});
                    finding("court_retry_waits", data)
                }
                None => finding("court_task_untaken", json!({"general": general.name})),
            };
        };
        if let Some(remote) = attempt.object("remote") {
            let text = |key| sentence(&remote.text(key).unwrap_or_default());
            let data = match text("kind").as_str() {
                fleet @ ("run" | "session" | "job") => json!({ format!("{fleet}_id"): text("id") }),
                _ => json!({}),
            };
            return finding("court_fleet_working", data);
        }
        if general.executor != Executor::Command {
            return finding("court_fleet_asked", json!({}));
        }
        let number = number(&attempt);
        match self.silent_since(id, &attempt, general) {
            Some(since) => {
                finding("court_soldier_silent", json!({"attempt": number, "since": since.as_millisecond()}))
            }
            None => {
                let since = moment(&attempt, "started_at");
                let data = json!({"general": general.name, "attempt": number, "since": since});
                finding("court_soldier_working", data)
            }
        }
    }

    fn why_ended(&self, id: &Id, task: &Document) -> Finding {
        let result = self.folder.read(Place::Results, id).unwrap_or_default();
        match task.text("status").as_deref() {
            Some("needs_human") => match self.folder.read(Place::QuestionsOpen, id) {
                Ok(question) => {
                    let asked = said(&question, "question").unwrap_or_default();
                    let data = json!({"question": asked, "since": moment(&question, "asked_at")});
                    finding("court_question_open", data)
                }
                Err(_) => {
                    let resumed =
                        timeline(self.folder, id).and_then(|story| story.resumed_by.into_iter().next());
                    finding("court_question_answered", json!({"court_task_id": resumed}))
                }
            },
            Some("failed") => finding("court_task_failed", json!({"error": said(&result, "error")})),
            Some("skipped") => finding("court_task_skipped", json!({"reason": said(&result, "reason")})),
            _ => finding("court_task_completed", json!({"summary": said(&result, "summary")})),
        }
    }
}

/// The finding of a code, with the rule of its row; members that are null are left out.
fn finding(code: &'static str, mut data: Value) -> Finding {
    let row = rows().find(|row| row.code == code).expect("every code has a row: a test looks at all");
    if let Value::Object(members) = &mut data {
        members.retain(|_, value| !value.is_null());
    }
    Finding { rule: row.rule, code, data }
}

fn unreadable(fault: &Fault) -> Option<Finding> {
    match fault {
        // It has moved on since; whoever asks again finds it there.
        Fault::Gone(_) => None,
        fault => Some(finding("court_file_unreadable", json!({"error": sentence(&fault.to_string())}))),
    }
}

/// A text of a file, on one line and short enough for a sentence.
fn said(document: &Document, key: &str) -> Option<String> {
    document.text(key).filter(|text| !text.is_empty()).map(|text| sentence(&text))
}

/// A time of a file, in epoch milliseconds.
fn moment(document: &Document, key: &str) -> Option<i64> {
    instant(&document.text(key)?).map(Timestamp::as_millisecond)
}
