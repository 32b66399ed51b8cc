use super::*;
use crate::{doctor::tests::Scene, layout::ATTEMPTS};
use std::{fs, path::Path, path::PathBuf};

impl Scene {
    /// The king obeys the host's health (C19).
    fn obeying(mut self) -> Self {
        self.court.settings.king.obey_health = true;
        self
    }

    fn running(mut self, roles: &[&str]) -> Self {
        for role in roles {
            self.start(role);
        }
        self
    }

    fn after(&self, seconds: i64) -> Timestamp {
        self.made + SignedDuration::from_secs(seconds)
    }

    /// What is stuck so many seconds after the files were made; a host that was looked at just then.
    fn visit(&self, seconds: i64, cpu_percent: f64) -> Findings {
        let now = self.after(seconds);
        self.report_host(cpu_percent, now);
        for id in self.folder.ids(Place::MessagesPending).unwrap() {
            let message = self.folder.read(Place::MessagesPending, &id).unwrap();
            if message.text("type").as_deref() == Some("report") {
                self.folder.remove(Place::MessagesPending, &id).unwrap();
            }
        }
        stuck(&self.folder, &self.court, now).unwrap()
    }

    /// The one thing that is stuck, as `what id: why -> next`.
    fn only(&self, seconds: i64) -> String {
        let found = self.visit(seconds, 0.0).stuck;
        assert_eq!(found.len(), 1, "{found:?}");
        format!("{} {}: {} -> {}", found[0].what, found[0].id, found[0].why, found[0].next)
    }
}

/// C21: a court where nothing waits longer than it may has nothing stuck; three polls are the limit.
#[test]
fn what_is_on_its_way_is_not_stuck() {
    let scene = Scene::new();
    scene.event(Place::EventsPending, "");
    scene.task(Place::TasksPending, "greet", &[]);
    assert_eq!(scene.visit(25, 0.0).stuck.iter().filter(|stuck| stuck.what != "message").count(), 0);
    scene.message(Place::MessagesPending, &[]);
    assert_eq!(scene.visit(10, 0.0), Findings::default());
    let stuck = scene.visit(40, 0.0).stuck;
    assert_eq!(stuck.iter().map(|stuck| stuck.what).collect::<Vec<_>>(), ["event", "task", "message"]);
    assert!(
        stuck.iter().all(|stuck| stuck.since.is_some() && !stuck.why.is_empty() && !stuck.next.is_empty())
    );
}

/// C19, C21: where the king does not obey it, the host's health explains no wait; it is worth a note all the same.
#[test]
fn health_that_is_not_obeyed_keeps_nothing_waiting() {
    let scene = Scene::new().running(&["king"]);
    scene.event(Place::EventsPending, "");
    let busy = scene.visit(40, 95.0);
    assert!(busy.stuck[0].why.contains("the king has not taken it up"), "{busy:?}");
    assert_eq!(busy.notes, ["the host's health counts as red"]);
}

/// C19, C21: an event waits because nobody is king, because of the host's health, or for no good reason.
#[test]
fn why_an_event_waits() {
    let scene = Scene::new().obeying();
    scene.event(Place::EventsPending, "");
    assert!(scene.only(40).starts_with("event evt-1: no king is running -> start `muster court king`"));
    let scene = scene.running(&["king"]);
    assert!(scene.only(40).contains("the king has not taken it up"));
    let busy = scene.visit(40, 70.0);
    assert!(busy.stuck[0].why.contains("health is yellow"), "{busy:?}");
    let at_once = scene.visit(1, 70.0);
    assert!(at_once.stuck.is_empty(), "{at_once:?}");
    let note =
        "1 events wait because the host's health is yellow; the limits are in [chamberlain] of court.toml";
    assert!(at_once.notes.iter().any(|known| known.starts_with(note)), "{at_once:?}");
    let later = stuck(&scene.folder, &scene.court, scene.after(600)).unwrap();
    assert!(later.stuck[0].next.contains("muster court chamberlain"), "{later:?}");
}

/// C14, C21: neither what was begun nor an answer waits for the host's health.
#[test]
fn health_is_no_excuse_for_what_was_begun() {
    let scene = Scene::new().obeying().running(&["king"]);
    scene.event(Place::EventsPending, r#", "dispatch": {"task_id": "task-20260207-009"}"#);
    assert!(scene.visit(40, 95.0).stuck[0].why.contains("has not taken it up"));
}

/// C21: events whose task is lost, or over, are told with the way out.
#[test]
fn events_that_can_never_be_completed() {
    let scene = Scene::new().running(&["king", "general-greet"]);
    scene.event(Place::EventsDispatched, r#", "dispatch": {"task_id": "task-20260207-001"}"#);
    assert!(scene.only(40).contains("its task task-20260207-001 is nowhere -> move the file back"));
    let id = scene.task(Place::TasksCompleted, "greet", &[]);
    assert!(scene.only(40).contains("is over, but the event is not"));
    scene.folder.remove(Place::TasksCompleted, &id).unwrap();
    scene.task(Place::TasksPending, "greet", &[]);
    assert!(scene.only(40).starts_with("task "));
    scene.event(Place::EventsDispatched, r#", "outcome": "discarded""#);
    assert!(scene.visit(40, 0.0).stuck[0].why.contains("not moved to completed"));
}

/// C21: a task without a general, or whose general is not there or does not take it.
#[test]
fn why_a_task_waits() {
    let scene = Scene::new();
    scene.task(Place::TasksPending, "nobody", &[]);
    assert!(scene.only(40).contains("no general nobody -> write generals/nobody.toml"));
    scene.task(Place::TasksPending, "greet", &[]);
    assert!(scene.only(40).contains("is not running -> start `muster court general greet`"));
    let scene = scene.running(&["general-greet"]);
    assert!(scene.only(40).contains("has a soldier free"));
}

/// C16, C21: a task that waits for a free soldier is in line, not stuck.
#[test]
fn a_line_is_not_stuck() {
    let scene = Scene::new().running(&["general-greet"]);
    let running = format!(r#"[{{"attempt": 1, "status": "running", "started_at": "{}"}}]"#, scene.made);
    let id = scene.task(Place::TasksInProgress, "greet", &[("attempts", &running)]);
    let other = scene.folder.read(Place::TasksInProgress, &id).unwrap();
    let mut other = other.clone();
    other.set_text("id", "task-20260207-002").set_text("status", "pending");
    scene.folder.write(Place::TasksPending, &Id::parse("task-20260207-002").unwrap(), &other).unwrap();
    let found = scene.visit(40, 0.0);
    assert!(found.stuck.is_empty(), "{found:?}");
    assert_eq!(found.notes, ["1 tasks wait until the general greet has a soldier free"]);
}

/// C16, C21: a soldier has its time limit and three polls, from its last sign of life.
#[test]
fn a_soldier_beyond_its_time_is_stuck() {
    let scene = Scene::new().running(&["general-greet"]);
    let running = format!(r#"[{{"attempt": 1, "status": "running", "started_at": "{}"}}]"#, scene.made);
    let id = scene.task(Place::TasksInProgress, "greet", &[("attempts", &running)]);
    assert!(scene.visit(120, 0.0).stuck.is_empty());
    assert!(scene.only(140).contains("no sign of life for longer than 100 s"));
    let beat = scene.folder.path(ATTEMPTS).join(id.as_str()).join("1/heartbeat");
    fs::create_dir_all(beat.parent().unwrap()).unwrap();
    fs::write(&beat, "").unwrap();
    date(&beat, scene.after(60));
    assert!(scene.visit(140, 0.0).stuck.is_empty(), "its heart beat since");
    assert!(scene.only(200).contains("no sign of life"));
}

/// C16, C21: a pause before the next attempt is no standstill; what follows it is.
#[test]
fn a_pause_is_not_stuck() {
    let scene = Scene::new().running(&["general-greet"]);
    let ended = format!(
        r#"[{{"attempt": 1, "status": "failed", "error": "e", "started_at": "{0}", "ended_at": "{0}"}}]"#,
        scene.made
    );
    scene.task(Place::TasksInProgress, "greet", &[("attempts", &ended)]);
    assert!(scene.visit(100, 0.0).stuck.is_empty());
    assert!(scene.only(160).contains("its next attempt is due"));
}

/// C21: a task in progress whose general has gone, and a result that no king has seen.
#[test]
fn what_others_left_behind() {
    let scene = Scene::new();
    let id = scene.task(Place::TasksInProgress, "greet", &[]);
    assert!(scene.only(40).contains("the general greet is not running"));
    let result = r#"{"task_id": "task-20260207-001", "status": "success", "summary": "s"}"#;
    scene.write(Place::Results, id.as_str(), result);
    assert!(scene.only(40).contains("its result is there, and no king is running"));
    let scene = scene.running(&["king"]);
    assert!(scene.only(40).contains("the king has not closed it"));
}

/// C21: messages that nobody has got; three of the envoy's polls.
#[test]
fn messages_that_nobody_got() {
    let scene = Scene::new();
    scene.message(Place::MessagesPending, &[]);
    assert!(scene.visit(10, 0.0).stuck.is_empty());
    assert!(scene.only(20).contains("no envoy is running -> start `muster court envoy`"));
    let scene = scene.running(&["envoy"]);
    assert!(scene.only(20).contains("the envoy has not posted it"));
    scene.folder.remove(Place::MessagesPending, &Id::parse("msg-20260207-001").unwrap()).unwrap();
    scene.message(Place::MessagesFailed, &[("error", r#""channel_not_found\u001b[31m""#)]);
    let failed = scene.only(1);
    assert!(failed.contains("could not be posted: channel_not_found"), "{failed}");
    assert!(!failed.contains('\u{1b}'), "{failed}");
}

/// C3, C6, C21: one file in two places, a status that is none of its directory, a file that cannot be read.
#[test]
fn files_that_contradict_themselves() {
    let scene = Scene::new().running(&["king"]);
    scene.event(Place::EventsPending, "");
    scene.event(Place::EventsCompleted, "");
    assert!(scene.only(40).contains("it lies in queue/events/completed as well"));
    scene.folder.remove(Place::EventsCompleted, &Id::parse("evt-1").unwrap()).unwrap();
    scene.event(Place::EventsPending, r#", "x": 1"#);
    let path = scene.folder.path("queue/events/pending/evt-1.json");
    fs::write(&path, fs::read_to_string(&path).unwrap().replace("\"pending\"", "\"failed\"")).unwrap();
    assert!(scene.only(40).contains("its status is failed"));
    fs::write(&path, "{").unwrap();
    assert!(scene.only(40).contains("it cannot be read"));
}

/// C4, C12, C21: what writers left half done and names that are none are found; what was refused lately is a note.
#[test]
fn leftovers_are_found() {
    let scene = Scene::new();
    fs::write(scene.folder.path("queue/tasks/completed/.tmp-1-a-0"), "").unwrap();
    fs::write(scene.folder.path("state/.tmp-1-a-1"), "").unwrap();
    fs::write(scene.folder.path("queue/events/pending/a b.json"), "{}").unwrap();
    fs::write(scene.folder.path("queue/events/pending/.hidden"), "{}").unwrap();
    let ids = |seconds| -> Vec<String> {
        scene.visit(seconds, 0.0).stuck.into_iter().map(|stuck| stuck.id).collect()
    };
    assert_eq!(ids(40), ["a b.json"]);
    assert_eq!(ids(70), ["a b.json", ".tmp-1-a-0", ".tmp-1-a-1"]);
    let folder = &scene.folder;
    folder.reject(Place::EventsPending, "a b.json".as_ref(), "its name is strange").unwrap();
    let found = scene.visit(10, 0.0);
    assert!(found.stuck.is_empty());
    assert!(found.notes[0].contains("a b.json (its name is strange)"), "{found:?}");
    assert!(scene.visit(90_000, 0.0).notes.is_empty());
}

/// C21: of what is over only names are looked at: not even garbage there is noticed, and nothing is moved.
#[test]
fn history_is_not_read() {
    let scene = Scene::new();
    let history: Vec<PathBuf> =
        [Place::EventsCompleted, Place::TasksCompleted, Place::MessagesSent, Place::Results]
            .iter()
            .map(|place| scene.folder.directory(*place).join("old-1.json"))
            .collect();
    for path in &history {
        fs::write(path, "garbage").unwrap();
    }
    assert_eq!(scene.visit(1000, 0.0), Findings::default());
    assert!(history.iter().all(|path| path.exists()));
}

/// C21: `--json` has every member by name.
#[test]
fn findings_are_told_as_json() {
    let scene = Scene::new();
    scene.event(Place::EventsPending, "");
    let json = serde_json::to_value(scene.visit(40, 0.0)).unwrap();
    let stuck = json["stuck"][0].as_object().unwrap();
    assert_eq!(stuck.len(), 6);
    assert_eq!(stuck["place"], "queue/events/pending");
    assert!(stuck["since"].as_str().unwrap().ends_with('Z'));
}

/// C21: a result that belongs to no task is told, after a while and for a day.
#[test]
fn a_result_of_no_task() {
    let scene = Scene::new();
    let result = r#"{"task_id": "task-20260207-001", "status": "success", "summary": "s"}"#;
    scene.write(Place::Results, "task-20260207-001", result);
    assert!(scene.visit(10, 0.0).stuck.is_empty());
    assert!(scene.only(40).starts_with("file task-20260207-001: there is no such task -> "));
    assert!(scene.visit(25 * 3600, 0.0).stuck.is_empty(), "its task may have gone before it");
    scene.task(Place::TasksCompleted, "greet", &[]);
    assert!(scene.visit(40, 0.0).stuck.is_empty());
}

fn date(path: &Path, at: Timestamp) {
    fs::File::options().write(true).open(path).unwrap().set_modified(at.into()).unwrap();
}
