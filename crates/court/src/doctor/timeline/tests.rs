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
};
use jiff::SignedDuration;

fn at(seconds: i64) -> Timestamp {
    let start: Timestamp = "2026-02-07T10:00:00Z".parse().unwrap();
    start + SignedDuration::from_secs(seconds)
}

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
        mind.look(&self.folder, &Sample::default(), at(seconds)).unwrap();
        let mut king = King::new(Court::read(self.home.path()).unwrap(), "ops".to_owned()).unwrap();
        king.begin(&self.folder, at(seconds)).unwrap();
        while king.step(&self.folder, at(seconds)).unwrap() {}
    }

    fn emit(&self, text: &str, seconds: i64) -> Id {
        match emit(&self.folder, Document::parse(text.as_bytes()).unwrap(), at(seconds)).unwrap() {
            Emitted::New(id) | Emitted::Duplicate(id) => id,
        }
    }

    /// A general that has a task, and its result.
    fn general(&self, seconds: i64, result: &str) -> Id {
        let id = self.folder.ids(Place::TasksPending).unwrap().remove(0);
        self.folder.advance(&id, Place::TasksPending, Place::TasksInProgress).unwrap();
        let mut task = self.folder.read(Place::TasksInProgress, &id).unwrap();
        task.set_text("status", "in_progress");
        self.folder.write(Place::TasksInProgress, &id, &task).unwrap();
        let attempts = format!(
            r#"[{{"attempt": 1, "status": "failed", "error": "no luck", "started_at": "{}", "ended_at": "{}"}},
                {{"attempt": 2, "status": "success", "error": null, "started_at": "{}", "ended_at": "{}"}}]"#,
            at(seconds),
            at(seconds + 1),
            at(seconds + 2),
            at(seconds + 3)
        );
        let mut document = Document::parse(result.as_bytes()).unwrap();
        document.set_text("task_id", id.as_str()).set_raw("attempts", attempts);
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
    let event = scene.emit(r#"{"id": "evt-me-1", "type": "greet.hello", "source": "me", "payload": {}}"#, 0);
    assert!(tells(&timeline(&scene.folder, &event).unwrap(), "event evt-me-1 (greet.hello) came from me"));
    scene.king(1);
    let task = scene.general(10, r#"{"status": "needs_human", "summary": "s", "question": "whom?"}"#);
    scene.king(20);
    assert!(tells(&timeline(&scene.folder, &task).unwrap(), "nobody has answered"));
    let reply = inbox::reply(&scene.folder, &task, "Ada", at(30)).unwrap().id().clone();
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
    assert!(tells(&story, "the result is success: done") && tells(&story, "attempt 2 began"), "{story:#?}");
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
            at(2)
        );
        document.set_raw("attempts", running);
        scene.folder.write(Place::TasksPending, &task, &document).unwrap();
        let story = timeline(&scene.folder, &task).unwrap();
        assert!(story.entries.iter().any(|entry| entry.what == words), "{story:#?}");
        assert!(!tells(&story, "attempt 1 ended"), "{story:#?}");
    }
}
