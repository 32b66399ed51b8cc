//! Makes the end of a task known, and ends it (C14, C15).

use super::{
    King,
    dispatch::{complete, planned},
};
use crate::{
    Document, Fault, Folder, Id, Place, Series,
    document::document,
    emit::say,
    file::{MessageKind, NewMessage, NewTask, Outcome, OutcomeStatus, Urgency, stamp},
    roles::Step,
};
use jiff::Timestamp;

impl King {
    /// Ends the tasks whose result is there.
    ///
    /// Tasks in progress are few, results of all times are many: so the tasks are gone through, not the results.
    pub(super) fn close_tasks(&self, folder: &Folder, now: Timestamp) -> Result<(), Fault> {
        let ids = folder.ids(Place::TasksInProgress)?.into_iter();
        let ended = ids.filter(|id| folder.has(Place::Results, id));
        // A task that cannot be ended now does not hold up the others.
        ended.map(|id| self.close_or_reject(Step { folder, now }, &id)).fold(Ok(()), Result::and)
    }

    /// A task that cannot be ended as it is ends among what was refused; its event follows it.
    fn close_or_reject(&self, step: Step<'_>, id: &Id) -> Result<(), Fault> {
        match self.close(step, id) {
            Err(Fault::Invalid(reason)) => {
                tracing::warn!(%id, %reason, "a task cannot be ended and is rejected");
                step.folder.reject_file(Place::TasksInProgress, id, &reason)
            }
            Err(Fault::Gone(_)) => Ok(()),
            other => other,
        }
    }

    fn close(&self, step: Step<'_>, id: &Id) -> Result<(), Fault> {
        let Step { folder, now } = step;
        let Some(mut task) = folder.read_or_reject(Place::TasksInProgress, id)? else { return Ok(()) };
        let Some(outcome) = outcome(folder, id)? else { return Ok(()) };
        if !is_planned(&task) {
            plan(step, id, &mut task, &outcome)?;
        }
        let closing = task.object("closing").unwrap_or_default();
        if outcome.status == OutcomeStatus::NeedsHuman {
            self.ask(step, &task, &outcome)?;
        }
        say(folder, &planned(&closing, "message")?, &self.news(id, &task, &outcome), now)?;
        if let Some(proclamation) = proclamation(id, &outcome).filter(|_| closing.has("proclamation")) {
            say(folder, &planned(&closing, "proclamation")?, &proclamation, now)?;
        }
        complete_event(step, &task, outcome.status)?;
        folder.advance(id, Place::TasksInProgress, Place::TasksCompleted)
    }

    /// Keeps the question where it is found again when an answer comes.
    fn ask(&self, step: Step<'_>, task: &Document, outcome: &Outcome) -> Result<(), Fault> {
        let Step { folder, now } = step;
        let id = &planned(task, "id")?;
        if folder.has(Place::QuestionsOpen, id) || folder.has(Place::QuestionsAnswered, id) {
            return Ok(());
        }
        let question = document! {
            "task_id": id, "question": outcome.document.text("question").unwrap_or_default(),
            "general": task.text("target_general").unwrap_or_default(), "channel": self.channel,
            "asked_at": stamp(now), "reply_context": reply_context(id, task, outcome),
        };
        folder.create(Place::QuestionsOpen, id, &question).map(|_| ())
    }

    /// The message about the end of a task.
    fn news(&self, id: &Id, task: &Document, outcome: &Outcome) -> NewMessage {
        let event_id = task.text("event_id").unwrap_or_default();
        let mut context = document! {"task_id": id, "event_id": event_id, "result": outcome.status.as_str()};
        if outcome.status == OutcomeStatus::NeedsHuman {
            context.set("reply_context", &reply_context(id, task, outcome));
        }
        let (kind, urgency) = match outcome.status {
            OutcomeStatus::NeedsHuman => (MessageKind::HumanInputRequest, Urgency::High),
            OutcomeStatus::Failed | OutcomeStatus::Killed => (MessageKind::Notification, Urgency::High),
            OutcomeStatus::Success | OutcomeStatus::Skipped => (MessageKind::Notification, Urgency::Normal),
        };
        let named = outcome.document.text("notify_channel").filter(|_| kind == MessageKind::Notification);
        let channel = named.unwrap_or_else(|| self.channel.clone());
        NewMessage { kind, channel, urgency, content: ended(id, outcome), context }
    }
}

/// True if a king has decided how the task ends: the status says so, and the message id is reserved.
fn is_planned(task: &Document) -> bool {
    let status = task.text("status").unwrap_or_default();
    let closing = task.object("closing").unwrap_or_default();
    Place::TasksCompleted.statuses().contains(&status.as_str()) && planned(&closing, "message").is_ok()
}

/// Reads a result; in place of one that is not valid stands from then on that it was not.
fn outcome(folder: &Folder, id: &Id) -> Result<Option<Outcome>, Fault> {
    match folder.read(Place::Results, id) {
        Ok(document) => Ok(Outcome::of(document)),
        Err(Fault::Gone(_)) => Ok(None),
        Err(Fault::Invalid(reason)) => {
            let document = document! {
                "task_id": id, "status": "failed", "summary": "the result was not valid", "error": shortened(&reason),
            };
            set_apart(folder, id, &reason)?;
            folder.write(Place::Results, id, &document)?;
            Ok(Outcome::of(document))
        }
        Err(other) => Err(other),
    }
}

/// Keeps a result that is not valid for whoever wants to know. It is copied where it can be read, so that the task has a
/// result at every moment.
fn set_apart(folder: &Folder, id: &Id, reason: &str) -> Result<(), Fault> {
    match folder.bytes(&folder.file(Place::Results, id)) {
        Ok(bytes) => {
            let name = Id::parse(&id.file_name()).map_err(|error| Fault::Invalid(error.to_string()))?;
            folder.reject_bytes(&name, &bytes, reason)
        }
        Err(_) => folder.reject_file(Place::Results, id, reason),
    }
}

/// Writes down which messages will be made, before any is.
fn plan(step: Step<'_>, id: &Id, task: &mut Document, outcome: &Outcome) -> Result<(), Fault> {
    let Step { folder, now } = step;
    let mut closing = document! {"message": folder.next_id(Series::Message, now)?};
    if proclamation(id, outcome).is_some() {
        closing.set("proclamation", &folder.next_id(Series::Message, now)?);
    }
    closing.set("at", &stamp(now));
    task.set("status", outcome.status.task_status()).set("closing", &closing);
    if let Some(attempts) = outcome.document.raw("attempts") {
        // The general told the end of the last attempt in the result only.
        task.set_raw("attempts", attempts);
    }
    folder.write(Place::TasksInProgress, id, task)
}

/// The message to everybody that the result asks for, in a thread of its own (C15).
fn proclamation(id: &Id, outcome: &Outcome) -> Option<NewMessage> {
    if outcome.status == OutcomeStatus::NeedsHuman {
        return None;
    }
    let proclamation = outcome.document.object("proclamation")?;
    Some(NewMessage {
        kind: MessageKind::Notification,
        channel: proclamation.text("channel")?,
        urgency: Urgency::Normal,
        content: proclamation.text("message")?,
        context: document! {"task_id": format!("proclamation-{id}")},
    })
}

/// The context that a reply needs for the work to resume.
fn reply_context(id: &Id, task: &Document, outcome: &Outcome) -> Document {
    let mut context = document! {"task_id": id};
    for key in ["target_general", "event_id", "type"] {
        context.set(key, &task.text(key).unwrap_or_default());
    }
    for key in ["question", "checkpoint_path"] {
        if let Some(raw) = outcome.document.raw(key) {
            context.set_raw(key, raw);
        }
    }
    context
}

fn complete_event(step: Step<'_>, task: &Document, status: OutcomeStatus) -> Result<(), Fault> {
    let folder = step.folder;
    let event_id = task.text("event_id").and_then(|text| Id::parse(&text).ok());
    let Some(event_id) = event_id.filter(|id| folder.has(Place::EventsDispatched, id)) else { return Ok(()) };
    let Some(event) = folder.read_or_reject(Place::EventsDispatched, &event_id)? else { return Ok(()) };
    complete(step, &event_id, event, status.as_str())
}

/// A task begins.
pub(super) fn begun(task: &NewTask, id: &Id, event: &Document) -> String {
    let about = event.text("repo").map(|repo| format!(" · {}", shortened(&repo))).unwrap_or_default();
    format!("📋 {id} · {}{about} → {}", shortened(&task.kind), task.general)
}

/// A task begins by the clock.
pub(super) fn begun_by_schedule(task: &NewTask, id: &Id) -> String {
    format!("⏰ {id} · {} ({}) → {}", shortened(&task.kind), task.event_id, task.general)
}

/// A task ended (C14).
pub(super) fn ended(id: &Id, outcome: &Outcome) -> String {
    let text =
        |key: &str| outcome.document.text(key).filter(|text| !text.is_empty()).map(|text| shortened(&text));
    let (sign, more) = match outcome.status {
        OutcomeStatus::Success => ("✅", None),
        OutcomeStatus::Failed | OutcomeStatus::Killed => ("❌", text("error")),
        OutcomeStatus::Skipped => ("⏭️", text("reason")),
        OutcomeStatus::NeedsHuman => ("❓", text("question")),
    };
    let parts = [text("summary"), more].into_iter().flatten();
    parts.fold(format!("{sign} {id}"), |line, part| format!("{line}\n{part}"))
}

/// As much of a text as people read.
pub(super) fn shortened(text: &str) -> String {
    match text.char_indices().nth(CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

const CHARS_MAX: usize = 3000;
