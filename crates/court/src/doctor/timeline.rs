//! All that is known of one task, across files, in the order it happened (C21).

use super::{sentence, stamped, written};
use crate::{
    Document, Fault, Folder, Id, Kind, Place,
    file::{Outcome, instant},
};
use jiff::Timestamp;
use serde::Serialize;

/// The story of a task, or of an event that is none yet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Timeline {
    /// The task, once there is one.
    pub task_id: Option<String>,
    /// Its origin: an event, or `schedule-{name}`.
    pub event_id: Option<String>,
    /// The general.
    pub general: Option<String>,
    /// The word of the task's `status`, or the event's.
    pub status: Option<String>,
    /// Tasks that went on with the answer to its question.
    pub resumed_by: Vec<String>,
    /// The entries, oldest first; those without a time come last.
    pub entries: Vec<Entry>,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// The time.
    #[serde(serialize_with = "stamped")]
    pub at: Option<Timestamp>,
    /// The description, in one sentence.
    pub what: String,
    /// The file that tells, from the court's home.
    pub file: String,
}

/// Tells the story of a task by its id, or by its event's; nothing where no file knows the id.
#[must_use]
pub fn timeline(folder: &Folder, id: &Id) -> Option<Timeline> {
    let mut story = Story::new(folder);
    let task = match folder.find(Kind::Event, id) {
        Some(_) => {
            let event = story.event(id);
            story.event_id = Some(id.to_string());
            event.and_then(|event| planned_task(&event))
        }
        None => Some(id.clone()),
    };
    if let Some(task) = &task {
        story.task(task);
    }
    story.told()
}

/// The task that an event was made.
pub(super) fn planned_task(event: &Document) -> Option<Id> {
    Id::parse(&event.object("dispatch")?.text("task_id")?).ok()
}

/// A story while it is gathered.
struct Story<'a> {
    folder: &'a Folder,
    event_id: Option<String>,
    task_id: Option<String>,
    general: Option<String>,
    status: Option<String>,
    resumed_by: Vec<String>,
    entries: Vec<Entry>,
}

impl<'a> Story<'a> {
    fn new(folder: &'a Folder) -> Self {
        let (event_id, task_id, general, status) = (None, None, None, None);
        Self { folder, event_id, task_id, general, status, resumed_by: Vec::new(), entries: Vec::new() }
    }

    /// The story, if anything is known.
    fn told(mut self) -> Option<Timeline> {
        if self.entries.is_empty() {
            return None;
        }
        self.entries.sort_by_key(|entry| (entry.at.is_none(), entry.at));
        let Self { event_id, task_id, general, status, resumed_by, entries, .. } = self;
        Some(Timeline { task_id, event_id, general, status, resumed_by, entries })
    }

    /// Adds the entries of an event.
    fn event(&mut self, id: &Id) -> Option<Document> {
        let (place, event) = self.read(Kind::Event, id)?;
        let text = |key: &str| sentence(&event.text(key).unwrap_or_default());
        self.add(
            file(place, id),
            time(&event, "created_at"),
            format!("event {id} ({}) came from {}", text("type"), text("source")),
        );
        if let Some(plan) = event.object("dispatch") {
            let what = format!(
                "the king made it the task {} for {}",
                sentence(&plan.text("task_id").unwrap_or_default()),
                sentence(&plan.text("target_general").unwrap_or_default())
            );
            self.add(file(place, id), time(&plan, "at"), what);
            self.message(&plan, "thread_start");
        }
        if event.has("outcome") {
            let reason =
                event.text("reason").map(|reason| format!(": {}", sentence(&reason))).unwrap_or_default();
            self.add(
                file(place, id),
                time(&event, "completed_at"),
                format!("the event ended as {}{reason}", text("outcome")),
            );
        }
        self.status = event.text("status");
        Some(event)
    }

    /// Adds the entries of a task, and of everything that follows from it.
    fn task(&mut self, id: &Id) {
        let task = self.read(Kind::Task, id);
        if let Some((place, task)) = &task {
            (self.general, self.status) = (task.text("target_general"), task.text("status"));
            self.origin(*place, id, task);
            let kind = sentence(&task.text("type").unwrap_or_default());
            let general = sentence(&task.text("target_general").unwrap_or_default());
            self.add(
                file(*place, id),
                time(task, "created_at"),
                format!("task {id} ({kind}) was made for {general}"),
            );
            self.messages_of(task);
        }
        let known = self.entries.len();
        let result = self.result(id);
        let told_by_result = result.map(|result| result.objects("attempts")).unwrap_or_default();
        self.attempts(&file(Place::Results, id), &told_by_result);
        if let Some((place, task)) = task.as_ref().filter(|_| told_by_result.is_empty()) {
            self.attempts(&file(*place, id), &task.objects("attempts"));
        }
        self.question(id);
        if task.is_some() || self.entries.len() > known {
            self.task_id = Some(id.to_string());
        }
    }

    /// Adds the origin of a task: its event, and the task whose question was answered.
    fn origin(&mut self, place: Place, id: &Id, task: &Document) {
        if let Some(before) =
            task.object("payload").and_then(|payload| payload.object("reply_context")?.text("task_id"))
        {
            self.add(
                file(place, id),
                time(task, "created_at"),
                format!("it goes on with the answer to {}", sentence(&before)),
            );
        }
        let event = task.text("event_id");
        if self.event_id.is_none() {
            self.event_id.clone_from(&event);
            if let Some(event) = event.and_then(|event| Id::parse(&event).ok()) {
                let status = self.status.take();
                self.event(&event);
                self.status = status;
            }
        }
    }

    fn messages_of(&mut self, task: &Document) {
        for member in ["messages", "closing"] {
            let Some(messages) = task.object(member) else { continue };
            let keys: Vec<String> = messages.keys().map(str::to_owned).collect();
            keys.iter().for_each(|key| self.message(&messages, key));
        }
    }

    /// Adds the fate of a message that another file names.
    fn message(&mut self, named_in: &Document, key: &str) {
        let id = named_in.text(key).filter(|id| id.starts_with("msg-")).and_then(|id| Id::parse(&id).ok());
        let Some(id) = id else { return };
        let Some((place, message)) = self.read(Kind::Message, &id) else { return };
        let (kind, channel) =
            (message.text("type").unwrap_or_default(), message.text("channel").unwrap_or_default());
        let about = format!("message {id} ({}) to {}", sentence(&kind), sentence(&channel));
        self.add(file(place, &id), time(&message, "created_at"), format!("{about} was written"));
        match place {
            Place::MessagesSent => {
                self.add(file(place, &id), time(&message, "sent_at"), format!("{about} was posted"))
            }
            Place::MessagesFailed => {
                let error = sentence(&message.text("error").unwrap_or_default());
                self.add(
                    file(place, &id),
                    time(&message, "failed_at"),
                    format!("{about} could not be posted: {error}"),
                );
            }
            _ => self.add(file(place, &id), None, format!("{about} waits for the envoy")),
        }
    }

    fn attempts(&mut self, file: &str, attempts: &[Document]) {
        for attempt in attempts {
            let number = attempt.number("attempt").unwrap_or_default();
            self.add(file.to_owned(), time(attempt, "started_at"), format!("attempt {number} began"));
            let status = attempt.text("status").unwrap_or_default();
            if status == "running" {
                self.add(
                    file.to_owned(),
                    None,
                    format!("attempt {number} is under way{}", whereabouts(attempt)),
                );
            } else if attempt.has("ended_at") {
                let error =
                    attempt.text("error").map(|error| format!(": {}", sentence(&error))).unwrap_or_default();
                self.add(
                    file.to_owned(),
                    time(attempt, "ended_at"),
                    format!("attempt {number} ended as {}{error}", sentence(&status)),
                );
            }
        }
    }

    fn result(&mut self, id: &Id) -> Option<Document> {
        let (place, result) = self.read(Kind::Result, id)?;
        let outcome = Outcome::of(result.clone())?;
        let more = ["error", "question", "reason", "summary"].iter().find_map(|key| result.text(key));
        let what =
            format!("the result is {}: {}", outcome.status.word(), sentence(&more.unwrap_or_default()));
        self.add(file(place, id), written(&self.folder.file(place, id)), what);
        Some(result)
    }

    /// Adds the question, its answers, and the tasks that resumed.
    fn question(&mut self, id: &Id) {
        let places = [Place::QuestionsOpen, Place::QuestionsAnswered];
        let found = places.into_iter().find_map(|place| Some((place, self.folder.read(place, id).ok()?)));
        let Some((place, question)) = found else { return };
        let asked = sentence(&question.text("question").unwrap_or_default());
        self.add(file(place, id), time(&question, "asked_at"), format!("it asked: {asked}"));
        if place == Place::QuestionsOpen {
            self.add(
                file(place, id),
                None,
                format!("nobody has answered; `muster court reply {id} TEXT` does"),
            );
        }
        let thread = question.text("thread_ts").unwrap_or_else(|| id.to_string()).replace('.', "-");
        for reply in
            [thread, id.to_string()].iter().flat_map(|thread| self.replies(thread)).collect::<Vec<Id>>()
        {
            self.reply(id, &reply);
        }
    }

    fn reply(&mut self, asked_by: &Id, reply: &Id) {
        let Some((place, event)) = self.read(Kind::Event, reply) else { return };
        let payload = event.object("payload").unwrap_or_default();
        let context = payload.object("reply_context").and_then(|context| context.text("task_id"));
        let entry = file(place, reply);
        if context.as_deref() != Some(asked_by.as_str())
            || self.entries.iter().any(|known| known.file == entry)
        {
            return;
        }
        let text = sentence(&payload.text("text").unwrap_or_default());
        self.add(file(place, reply), time(&event, "created_at"), format!("the answer {reply} came: {text}"));
        if let Some(task) = planned_task(&event) {
            let plan = event.object("dispatch").unwrap_or_default();
            self.add(file(place, reply), time(&plan, "at"), format!("the task {task} goes on with it"));
            self.resumed_by.push(task.to_string());
        }
    }

    /// The replies in a thread, by their names.
    fn replies(&self, thread: &str) -> Vec<Id> {
        let prefix = format!("evt-slack-reply-{thread}-");
        let all =
            Kind::Event.places().iter().flat_map(|place| self.folder.listed(*place).unwrap_or_default());
        let mut replies: Vec<Id> = all.filter(|id| id.as_str().starts_with(&prefix)).collect();
        replies.sort();
        replies.dedup();
        replies
    }

    /// Reads a file wherever it is; what cannot be read is told as well.
    fn read(&mut self, kind: Kind, id: &Id) -> Option<(Place, Document)> {
        let place = self.folder.find(kind, id)?;
        match self.folder.read(place, id) {
            Ok(document) => Some((place, document)),
            Err(Fault::Gone(_)) => None,
            Err(error) => {
                let what = format!("{id} cannot be read: {}", sentence(&error.to_string()));
                self.add(file(place, id), None, what);
                None
            }
        }
    }

    fn add(&mut self, file: String, at: Option<Timestamp>, what: String) {
        self.entries.push(Entry { at, what, file });
    }
}

/// The coordinator's name for an attempt, where one runs there (C17).
fn whereabouts(attempt: &Document) -> String {
    let Some(remote) = attempt.object("remote") else { return String::new() };
    let word = |key: &str| sentence(&remote.text(key).unwrap_or_default());
    format!(", as the {} {} of the coordinator", word("kind"), word("id"))
}

fn time(document: &Document, key: &str) -> Option<Timestamp> {
    instant(&document.text(key)?)
}

fn file(place: Place, id: &Id) -> String {
    format!("{}/{}", place.path(), id.file_name())
}

#[cfg(test)]
mod tests;
