//! All that is known of one task, across files, in the order it happened (C21).

use super::{sentence, stamped, written};
use crate::{
    Document, Fault, Folder, Id, Kind, Place,
    file::{Outcome, instant},
};
use jiff::Timestamp;
use serde::Serialize;

/// The story of a task, or of an event that is none yet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
    let mut story = Story { folder, timeline: Timeline::default() };
    let task = match folder.find(Kind::Event, id) {
        Some(_) => {
            let event = story.event(id);
            story.timeline.event_id = Some(id.to_string());
            event.and_then(|event| planned_task(&event))
        }
        None => Some(id.clone()),
    };
    if let Some(task) = &task {
        story.task(task);
    }
    let mut told = story.timeline;
    told.entries.sort_by_key(|entry| (entry.at.is_none(), entry.at));
    (!told.entries.is_empty()).then_some(told)
}

/// The task that an event was made.
pub(super) fn planned_task(event: &Document) -> Option<Id> {
    Id::parse(&event.object("dispatch")?.text("task_id")?).ok()
}

/// A story while it is gathered.
struct Story<'a> {
    folder: &'a Folder,
    timeline: Timeline,
}

impl Story<'_> {
    /// Adds the entries of an event.
    fn event(&mut self, id: &Id) -> Option<Document> {
        let (place, event) = self.read(Kind::Event, id)?;
        let file = file(place, id);
        let text = |document: &Document, key: &str| sentence(&document.text(key).unwrap_or_default());
        let what = format!("event {id} ({}) came from {}", text(&event, "type"), text(&event, "source"));
        self.add(&file, time(&event, "created_at"), what);
        if let Some(plan) = event.object("dispatch") {
            let (task, general) = (text(&plan, "task_id"), text(&plan, "target_general"));
            self.add(&file, time(&plan, "at"), format!("the king made it the task {task} for {general}"));
            self.message(&plan, "thread_start");
        }
        if event.has("outcome") {
            let what = format!("the event ended as {}{}", text(&event, "outcome"), because(&event, "reason"));
            self.add(&file, time(&event, "completed_at"), what);
        }
        self.timeline.status = event.text("status");
        Some(event)
    }

    /// Adds the entries of a task, and of everything that follows from it.
    fn task(&mut self, id: &Id) {
        let task = self.read(Kind::Task, id);
        if let Some((place, task)) = &task {
            (self.timeline.general, self.timeline.status) =
                (task.text("target_general"), task.text("status"));
            self.origin(*place, id, task);
            let kind = sentence(&task.text("type").unwrap_or_default());
            let general = sentence(&task.text("target_general").unwrap_or_default());
            let what = format!("task {id} ({kind}) was made for {general}");
            self.add(&file(*place, id), time(task, "created_at"), what);
            self.messages_of(task);
        }
        let known = self.timeline.entries.len();
        let result = self.result(id);
        let told_by_result = result.map(|result| result.objects("attempts")).unwrap_or_default();
        self.attempts(&file(Place::Results, id), &told_by_result);
        if let Some((place, task)) = task.as_ref().filter(|_| told_by_result.is_empty()) {
            self.attempts(&file(*place, id), &task.objects("attempts"));
        }
        self.question(id);
        if task.is_some() || self.timeline.entries.len() > known {
            self.timeline.task_id = Some(id.to_string());
        }
    }

    /// Adds the origin of a task: its event, and the task whose question was answered.
    fn origin(&mut self, place: Place, id: &Id, task: &Document) {
        let context = task.object("payload").and_then(|payload| payload.object("reply_context"));
        if let Some(before) = context.and_then(|context| context.text("task_id")) {
            let what = format!("it goes on with the answer to {}", sentence(&before));
            self.add(&file(place, id), time(task, "created_at"), what);
        }
        let event = task.text("event_id");
        if self.timeline.event_id.is_none() {
            self.timeline.event_id.clone_from(&event);
            if let Some(event) = event.and_then(|event| Id::parse(&event).ok()) {
                let status = self.timeline.status.take();
                self.event(&event);
                self.timeline.status = status;
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
        let file = file(place, &id);
        let text = |key: &str| sentence(&message.text(key).unwrap_or_default());
        let about = format!("message {id} ({}) to {}", text("type"), text("channel"));
        self.add(&file, time(&message, "created_at"), format!("{about} was written"));
        match place {
            Place::MessagesSent => self.add(&file, time(&message, "sent_at"), format!("{about} was posted")),
            Place::MessagesFailed => {
                let what = format!("{about} could not be posted: {}", text("error"));
                self.add(&file, time(&message, "failed_at"), what);
            }
            _ => self.add(&file, None, format!("{about} waits for the envoy")),
        }
    }

    fn attempts(&mut self, file: &str, attempts: &[Document]) {
        for attempt in attempts {
            let number = attempt.number("attempt").unwrap_or_default();
            self.add(file, time(attempt, "started_at"), format!("attempt {number} began"));
            let status = attempt.text("status").unwrap_or_default();
            if status == "running" {
                self.add(file, None, format!("attempt {number} is under way{}", whereabouts(attempt)));
            } else if attempt.has("ended_at") {
                let error = because(attempt, "error");
                let what = format!("attempt {number} ended as {}{error}", sentence(&status));
                self.add(file, time(attempt, "ended_at"), what);
            }
        }
    }

    fn result(&mut self, id: &Id) -> Option<Document> {
        let (place, result) = self.read(Kind::Result, id)?;
        let outcome = Outcome::of(result.clone())?;
        let more = ["error", "question", "reason", "summary"].iter().find_map(|key| result.text(key));
        let what =
            format!("the result is {}: {}", outcome.status.as_str(), sentence(&more.unwrap_or_default()));
        self.add(&file(place, id), written(&self.folder.file(place, id)), what);
        Some(result)
    }

    /// Adds the question, its answers, and the tasks that resumed.
    fn question(&mut self, id: &Id) {
        let places = [Place::QuestionsOpen, Place::QuestionsAnswered];
        let found = places.into_iter().find_map(|place| Some((place, self.folder.read(place, id).ok()?)));
        let Some((place, question)) = found else { return };
        let asked = sentence(&question.text("question").unwrap_or_default());
        let file = file(place, id);
        self.add(&file, time(&question, "asked_at"), format!("it asked: {asked}"));
        if place == Place::QuestionsOpen {
            self.add(&file, None, format!("nobody has answered; `muster court reply {id} TEXT` does"));
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
            || self.timeline.entries.iter().any(|known| known.file == entry)
        {
            return;
        }
        let text = sentence(&payload.text("text").unwrap_or_default());
        self.add(&entry, time(&event, "created_at"), format!("the answer {reply} came: {text}"));
        if let Some(task) = planned_task(&event) {
            let plan = event.object("dispatch").unwrap_or_default();
            self.add(&entry, time(&plan, "at"), format!("the task {task} goes on with it"));
            self.timeline.resumed_by.push(task.to_string());
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
                self.add(&file(place, id), None, what);
                None
            }
        }
    }

    fn add(&mut self, file: &str, at: Option<Timestamp>, what: String) {
        self.timeline.entries.push(Entry { at, what, file: file.to_owned() });
    }
}

/// The coordinator's name for an attempt, where one runs there (C17).
fn whereabouts(attempt: &Document) -> String {
    let Some(remote) = attempt.object("remote") else { return String::new() };
    let word = |key: &str| sentence(&remote.text(key).unwrap_or_default());
    format!(", as the {} {} of the coordinator", word("kind"), word("id"))
}

/// A text of a file as the end of a sentence; nothing where it has none.
fn because(document: &Document, key: &str) -> String {
    document.text(key).map(|text| format!(": {}", sentence(&text))).unwrap_or_default()
}

fn time(document: &Document, key: &str) -> Option<Timestamp> {
    instant(&document.text(key)?)
}

fn file(place: Place, id: &Id) -> String {
    format!("{}/{}", place.path(), id.file_name())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Place,
        config::Court,
        emit::{Emitted, emit},
        inbox,
        roles::{
            chamberlain::{Chamberlain, Sample},
            king::King,
        },
        scene::later,
    };

    /// A court with a king that does all it can at a moment.
    struct Scene {
        home: tempfile::TempDir,
        folder: Folder,
    }

    impl Scene {
        fn new() -> Self {
            let home = tempfile::tempdir().unwrap();
            crate::init::init(home.path()).unwrap();
            let folder = Folder::open(home.path()).unwrap();
            Self { home, folder }
        }

        fn king(&self, seconds: i64) {
            let mind = Chamberlain::new(Default::default(), "ops".to_owned());
            mind.look(&self.folder, &Sample::default(), later(seconds)).unwrap();
            let mut king = King::new(Court::read(self.home.path()).unwrap(), "ops".to_owned()).unwrap();
            king.begin(&self.folder, later(seconds)).unwrap();
            while king.step(&self.folder, later(seconds)).unwrap() {}
        }

        fn emit(&self, text: &str, seconds: i64) -> Id {
            match emit(&self.folder, Document::parse(text.as_bytes()).unwrap(), later(seconds)).unwrap() {
                Emitted::New(id) | Emitted::Duplicate(id) => id,
            }
        }

        /// A general that has a task, and its result.
        fn general(&self, seconds: i64, result: &str) -> Id {
            let id = self.folder.ids(Place::TasksPending).unwrap().remove(0);
            self.folder.advance(&id, Place::TasksPending, Place::TasksInProgress).unwrap();
            let mut task = self.folder.read(Place::TasksInProgress, &id).unwrap();
            task.set("status", "in_progress");
            self.folder.write(Place::TasksInProgress, &id, &task).unwrap();
            let attempts = format!(
                r#"[{{"attempt": 1, "status": "failed", "error": "no luck", "started_at": "{}", "ended_at": "{}"}},
                    {{"attempt": 2, "status": "success", "error": null, "started_at": "{}", "ended_at": "{}"}}]"#,
                later(seconds),
                later(seconds + 1),
                later(seconds + 2),
                later(seconds + 3)
            );
            let mut document = Document::parse(result.as_bytes()).unwrap();
            document.set("task_id", id.as_str()).set_raw("attempts", attempts);
            self.folder.write(Place::Results, &id, &document).unwrap();
            id
        }
    }

    fn tells(timeline: &Timeline, words: &str) -> bool {
        timeline.entries.iter().any(|entry| entry.what.contains(words))
    }

    /// C21: event, task, attempts, result, messages, question, answer and the task that went on, across files.
    #[test]
    fn the_whole_story_of_a_task() {
        let scene = Scene::new();
        let event =
            scene.emit(r#"{"id": "evt-me-1", "type": "greet.hello", "source": "me", "payload": {}}"#, 0);
        assert!(tells(
            &timeline(&scene.folder, &event).unwrap(),
            "event evt-me-1 (greet.hello) came from me"
        ));
        scene.king(1);
        let task = scene.general(10, r#"{"status": "needs_human", "summary": "s", "question": "whom?"}"#);
        scene.king(20);
        assert!(tells(&timeline(&scene.folder, &task).unwrap(), "nobody has answered"));
        let reply = inbox::reply(&scene.folder, &task, "Ada", later(30)).unwrap().id().clone();
        scene.king(31);

        let story = timeline(&scene.folder, &task).unwrap();
        for words in [
            "event evt-me-1 (greet.hello) came from me",
            "the king made it the task task-20260207-001 for greet",
            "task task-20260207-001 (greet.hello) was made for greet",
            "attempt 1 began",
            "attempt 1 ended as failed: no luck",
            "attempt 2 ended as success",
            "the result is needs_human: whom?",
            "it asked: whom?",
            "(thread_start) to ops was written",
            "(human_input_request) to ops waits for the envoy",
            "came: Ada",
            "the task task-20260207-002 goes on with it",
            "the event ended as needs_human",
        ] {
            assert!(tells(&story, words), "{words}: {story:#?}");
        }
        let times: Vec<Timestamp> = story.entries.iter().filter_map(|entry| entry.at).collect();
        assert!(times.is_sorted());
        assert_eq!(story.status.as_deref(), Some("needs_human"));
        assert_eq!(story.resumed_by, ["task-20260207-002"]);
        assert!(story.entries.iter().all(|entry| scene.folder.path(&entry.file).exists()), "{story:#?}");

        let by_event = timeline(&scene.folder, &event).unwrap();
        assert_eq!(by_event, story);
        let resumed = timeline(&scene.folder, &Id::parse("task-20260207-002").unwrap()).unwrap();
        assert!(tells(&resumed, "it goes on with the answer to task-20260207-001"));
        assert_eq!(resumed.event_id.as_deref(), Some(reply.as_str()));
    }

    /// C21: an event that nobody wanted has a story as well; an id that no file knows has none.
    #[test]
    fn stories_that_are_short() {
        let scene = Scene::new();
        let event = scene.emit(r#"{"type": "x.y", "source": "me", "payload": {}}"#, 0);
        scene.king(1);
        let story = timeline(&scene.folder, &event).unwrap();
        assert!(tells(&story, "the event ended as discarded: no general subscribes"), "{story:#?}");
        assert_eq!(story.task_id, None);
        assert_eq!(timeline(&scene.folder, &Id::parse("task-20260207-999").unwrap()), None);
    }

    /// C21: a task whose file was removed is still told of by what is left; a broken file is told as one.
    #[test]
    fn stories_with_holes() {
        let scene = Scene::new();
        scene.emit(r#"{"type": "greet.hello", "source": "me", "payload": {}}"#, 0);
        scene.king(1);
        let task = scene.general(10, r#"{"status": "success", "summary": "done"}"#);
        scene.king(20);
        scene.folder.remove(Place::TasksCompleted, &task).unwrap();
        let story = timeline(&scene.folder, &task).unwrap();
        assert!(
            tells(&story, "the result is success: done") && tells(&story, "attempt 2 began"),
            "{story:#?}"
        );
        std::fs::write(scene.folder.file(Place::TasksPending, &task), "{").unwrap();
        assert!(tells(&timeline(&scene.folder, &task).unwrap(), "cannot be read"));
        assert!(serde_json::to_value(story).unwrap()["entries"][0]["at"].is_string());
    }

    /// C17, C21: an attempt that has not ended is under way, here or at the coordinator.
    #[test]
    fn an_attempt_under_way_has_not_ended() {
        let scene = Scene::new();
        scene.emit(r#"{"type": "greet.hello", "source": "me", "payload": {}}"#, 0);
        scene.king(1);
        let task = scene.folder.ids(Place::TasksPending).unwrap().remove(0);
        let mut document = scene.folder.read(Place::TasksPending, &task).unwrap();
        for (remote, words) in [
            ("", "attempt 1 is under way"),
            (
                r#", "remote": {"kind": "run", "id": "r-7"}"#,
                "attempt 1 is under way, as the run r-7 of the coordinator",
            ),
        ] {
            let running = format!(
                r#"[{{"attempt": 1, "status": "running", "started_at": "{}", "ended_at": null, "error": null{remote}}}]"#,
                later(2)
            );
            document.set_raw("attempts", running);
            scene.folder.write(Place::TasksPending, &task, &document).unwrap();
            let story = timeline(&scene.folder, &task).unwrap();
            assert!(story.entries.iter().any(|entry| entry.what == words), "{story:#?}");
            assert!(!tells(&story, "attempt 1 ended"), "{story:#?}");
        }
    }
}
