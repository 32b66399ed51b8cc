//! A court for the tests of the doctor: its files are as old as a test says.

use super::{Findings, stuck, why, written};
use crate::{
    Document, Folder, Id, Kind, Place, RoleLock,
    config::{Court, General, Settings},
    file::{MessageKind, NewMessage, NewTask, Priority, Urgency},
    layout::ATTEMPTS,
    roles::chamberlain::{Chamberlain, Sample},
    scene::court,
};
use jiff::{SignedDuration, Timestamp};
use muster_explain::Why;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

/// A court with a general who has one soldier and one who uses a fleet. The doctor comes later; the files stay as they are.
struct Scene {
    _home: tempfile::TempDir,
    folder: Folder,
    court: Court,
    /// The time at which the court was made.
    made: Timestamp,
    locks: Vec<RoleLock>,
}

impl Scene {
    fn new() -> Self {
        let (home, folder) = court();
        let general = |name: &str, text: &str| {
            (name.to_owned(), General { name: name.to_owned(), ..toml::from_str(text).unwrap() })
        };
        let generals = BTreeMap::from([
            general("greet", "command = ['x']\nmax_soldiers = 1\ntimeout_s = 100"),
            general("fleet", "executor = 'run'"),
        ]);
        let court = Court { settings: Settings::default(), generals };
        let made = written(&folder.path("state")).unwrap();
        Self { _home: home, folder, court, made, locks: Vec::new() }
    }

    /// Lets a role run from now on.
    fn start(&mut self, role: &str) -> &mut Self {
        self.locks.push(RoleLock::take(&self.folder, role).unwrap());
        self
    }

    /// Lets the chamberlain report a load.
    fn report_host(&self, cpu_percent: f64, now: Timestamp) {
        let sample = Sample { cpu_percent, ..Sample::default() };
        Chamberlain::new(Default::default(), "ops".to_owned()).look(&self.folder, &sample, now).unwrap();
    }

    fn event(&self, place: Place, more: &str) {
        let status = place.statuses()[0];
        let text = format!(
            r#"{{"id": "evt-1", "type": "a.b", "source": "s", "repo": null, "payload": {{}}, "priority": "normal",
                "created_at": "2026-02-07T10:00:00Z", "status": "{status}"{more}}}"#
        );
        self.write(place, "evt-1", &text);
    }

    /// Puts the task into a directory, and nowhere else.
    fn task(&self, place: Place, general: &str, more: &[(&str, &str)]) -> Id {
        let id = Id::parse("task-20260207-001").unwrap();
        for earlier in Kind::Task.places().iter().filter(|place| self.folder.has(**place, &id)) {
            self.folder.remove(*earlier, &id).unwrap();
        }
        let (event_id, payload) = ("evt-1".to_owned(), "{}".to_owned());
        let (kind, priority, general) = ("a.b".to_owned(), Priority::Normal, general.to_owned());
        let task = NewTask { event_id, general, kind, payload, priority };
        let task = changed(task.document(&id, self.made), place, more);
        self.folder.write(place, &id, &task).unwrap();
        id
    }

    fn message(&self, place: Place, more: &[(&str, &str)]) {
        let id = Id::parse("msg-20260207-001").unwrap();
        let (channel, content, context) = ("ops".to_owned(), "c".to_owned(), Document::new());
        let kind = MessageKind::ThreadStart;
        let message = NewMessage { kind, channel, urgency: Urgency::Normal, content, context };
        let message = changed(message.document(&id, self.made), place, more);
        self.folder.write(place, &id, &message).unwrap();
    }

    fn write(&self, place: Place, id: &str, text: &str) {
        let document = Document::parse(text.as_bytes()).unwrap();
        self.folder.write(place, &Id::parse(id).unwrap(), &document).unwrap();
    }
}

/// A document as it is in a directory, with some members changed.
fn changed(mut document: Document, place: Place, more: &[(&str, &str)]) -> Document {
    document.set("status", place.statuses()[0]);
    for (key, raw) in more {
        document.set_raw(key, *raw);
    }
    document
}

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

    /// The findings so many seconds after the files were made, with a host that was looked at just then.
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
    other.set("id", "task-20260207-002").set("status", "pending");
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

const TASK: &str = "task-20260207-001";

impl Scene {
    fn why(&self, id: &str) -> Option<Why> {
        why(&self.folder, &self.court, &Id::parse(id).unwrap(), self.made).unwrap()
    }

    fn check(&self, id: &str, code: &str) -> Why {
        let why = self.why(id).unwrap();
        assert_eq!(why.code, code, "{why:?}");
        let row = muster_explain::rows().find(|row| row.code == code).unwrap();
        assert_eq!((&*why.kind, why.id.as_str(), &*why.rule), ("court_task", id, row.rule));
        assert!(!why.sentence.contains(['{', '[']) && why.sentence.ends_with(['.', '?']), "{}", why.sentence);
        why
    }
}

/// Q16, C13, C19: what an event waits for, before it is made a task.
#[test]
fn an_event_is_explained() {
    let mut scene = Scene::new();
    assert_eq!(scene.why("evt-1"), None);
    scene.event(Place::EventsPending, "");
    scene.check("evt-1", "court_no_king");
    scene.start("king").check("evt-1", "court_event_untaken");
    scene.court.settings.king.obey_health = true;
    scene.check("evt-1", "court_host_unwatched");
    scene.start("chamberlain");
    scene.report_host(99.0, scene.made);
    let why = scene.check("evt-1", "court_host_busy");
    assert_eq!((&why.data["health"], &why.data["priority"]), (&"red".into(), &"normal".into()));
    scene.report_host(0.0, scene.made);
    scene.check("evt-1", "court_event_untaken");
    let id = Id::parse("evt-1").unwrap();
    scene.folder.remove(Place::EventsPending, &id).unwrap();
    scene.event(Place::EventsDispatched, r#", "dispatch": {"task_id": "task-20260207-001"}"#);
    let why = scene.check("evt-1", "court_task_missing");
    assert_eq!(why.data["court_task_id"], TASK);
    scene.task(Place::TasksPending, "nobody", &[]);
    scene.check("evt-1", "court_no_general");
    scene.folder.remove(Place::EventsDispatched, &id).unwrap();
    scene.event(Place::EventsCompleted, r#", "outcome": "failed", "reason": "nobody wants it""#);
    let why = scene.check("evt-1", "court_event_over");
    assert!(why.sentence.contains("failed: nobody wants it"), "{}", why.sentence);
}

/// Q16, C5, C16: what a task waits for until its general has taken it.
#[test]
fn a_waiting_task_is_explained() {
    let mut scene = Scene::new();
    scene.task(Place::TasksPending, "nobody", &[]);
    scene.check(TASK, "court_no_general");
    scene.task(Place::TasksPending, "greet", &[]);
    scene.check(TASK, "court_general_stopped");
    scene.start("general-greet").check(TASK, "court_task_untaken");
    let other = r#"{"id": "task-20260207-002", "event_id": "e", "target_general": "greet", "type": "a.b", "payload": {},
        "priority": "normal", "created_at": "2026-02-07T10:00:00Z", "status": "in_progress",
        "attempts": [{"attempt": 1, "status": "running"}]}"#;
    scene.write(Place::TasksInProgress, "task-20260207-002", other);
    assert_eq!(scene.check(TASK, "court_soldiers_busy").data["soldiers"], 1);
    let path = scene.folder.file(Place::TasksPending, &Id::parse(TASK).unwrap());
    std::fs::write(path, "no JSON").unwrap();
    scene.check(TASK, "court_file_unreadable");
}

/// Q16, C16, C17: who is at a task, and how its attempts stand.
#[test]
fn a_task_in_progress_is_explained() {
    let mut scene = Scene::new();
    scene.start("general-greet").start("general-fleet");
    let attempt = |more: &str| {
        format!(
            r#"[{{"attempt": 1, "started_at": "2026-02-07T10:00:00Z", "ended_at": null, "error": null{more}}}]"#
        )
    };
    let running = attempt(r#", "status": "running""#);
    let place = Place::TasksInProgress;
    scene.task(place, "greet", &[("attempts", &running)]);
    scene.check(TASK, "court_soldier_working");
    scene.made += SignedDuration::from_secs(200);
    scene.check(TASK, "court_soldier_silent");
    scene.task(place, "greet", &[("attempts", &attempt(r#", "status": "failed""#))]);
    assert_eq!(scene.check(TASK, "court_retry_waits").data["attempt"], 1);
    scene.task(place, "greet", &[]);
    scene.check(TASK, "court_task_untaken");
    scene.task(place, "fleet", &[("attempts", &running)]);
    scene.check(TASK, "court_fleet_asked");
    for (fleet, key) in [("run", "run_id"), ("session", "session_id"), ("job", "job_id")] {
        let remote =
            attempt(&format!(r#", "status": "running", "remote": {{"kind": "{fleet}", "id": "x7"}}"#));
        scene.task(place, "fleet", &[("attempts", &remote)]);
        let why = scene.check(TASK, "court_fleet_working");
        assert_eq!(why.data[key], "x7");
        assert!(why.sentence.ends_with(&format!("as {fleet} x7.")), "{}", why.sentence);
    }
}

/// Q16, C14: how a task ended, and whose answer it needs.
#[test]
fn an_ended_task_is_explained() {
    let mut scene = Scene::new();
    let result = |scene: &Scene, status: &str, more: &str| {
        let text = format!(r#"{{"task_id": "{TASK}", "status": "{status}", "summary": "it is so"{more}}}"#);
        scene.write(Place::Results, TASK, &text);
    };
    scene.task(Place::TasksInProgress, "greet", &[]);
    result(&scene, "success", "");
    scene.check(TASK, "court_no_king");
    scene.start("king").check(TASK, "court_result_unclosed");
    let done = Place::TasksCompleted;
    scene.task(done, "greet", &[]);
    assert_eq!(scene.check(TASK, "court_task_completed").data["summary"], "it is so");
    result(&scene, "failed", r#", "error": "it broke""#);
    scene.task(done, "greet", &[("status", r#""failed""#)]);
    assert_eq!(scene.check(TASK, "court_task_failed").data["error"], "it broke");
    result(&scene, "skipped", r#", "reason": "nothing to do""#);
    scene.task(done, "greet", &[("status", r#""skipped""#)]);
    assert_eq!(scene.check(TASK, "court_task_skipped").data["reason"], "nothing to do");
    result(&scene, "needs_human", r#", "question": "which one?""#);
    scene.task(done, "greet", &[("status", r#""needs_human""#)]);
    scene.check(TASK, "court_question_answered");
    let question =
        r#"{"task_id": "task-20260207-001", "question": "which one?", "asked_at": "2026-02-07T10:00:00Z"}"#;
    scene.write(Place::QuestionsOpen, TASK, question);
    let why = scene.check(TASK, "court_question_open");
    assert!(why.sentence.ends_with("which one?"), "{}", why.sentence);
}
