use super::*;
use crate::Document;
use std::{
    ffi::OsStr,
    fs::File,
    os::unix::{ffi::OsStrExt, fs::symlink},
};

fn now() -> Timestamp {
    "2026-02-07T10:00:00Z".parse().unwrap()
}

struct Scene {
    _home: tempfile::TempDir,
    folder: Folder,
}

impl Scene {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
        Self { _home: home, folder }
    }

    /// A file of so many days.
    fn file(&self, path: &str, days: i64, text: &str) {
        let path = self.folder.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        date(&path, days);
    }

    /// What would go, from the court's home.
    fn plan(&self) -> Vec<String> {
        let retention = Retention::default();
        let removals = plan(&self.folder, &retention, now()).unwrap();
        let relative =
            |removal: &Removal| removal.path.strip_prefix(self.folder.home()).unwrap().display().to_string();
        let mut paths: Vec<String> = removals.iter().map(relative).collect();
        paths.sort();
        paths
    }
}

fn date(path: &Path, days: i64) {
    let at = now() - SignedDuration::from_hours(24 * days);
    File::open(path).unwrap().set_modified(at.into()).unwrap();
}

fn message(task: &str) -> String {
    format!(
        r#"{{"id": "msg-20260101-001", "type": "report", "channel": "c", "urgency": "normal", "content": "x",
            "context": {{"task_id": "{task}"}}, "created_at": "2026-01-01T00:00:00Z", "status": "sent"}}"#
    )
}

fn event(more: &str) -> String {
    format!(
        r#"{{"id": "evt-1", "type": "a.b", "source": "s", "payload": {{}}, "priority": "normal",
            "created_at": "2026-01-01T00:00:00Z", "status": "pending"{more}}}"#
    )
}

/// C21: retention per directory; what is over and old goes, what is younger stays.
#[test]
fn what_is_over_goes_when_it_is_old() {
    let scene = Scene::new();
    let places = [
        ("queue/events/completed", 30),
        ("queue/tasks/completed", 30),
        ("queue/messages/sent", 30),
        ("queue/messages/failed", 30),
        ("state/results", 30),
        ("state/questions/answered", 30),
        ("state/threads", 30),
        ("rejected", 90),
    ];
    let mut due: Vec<String> = Vec::new();
    for (number, (place, days)) in places.into_iter().enumerate() {
        scene.file(&format!("{place}/old-{number}.json"), days, "12345");
        scene.file(&format!("{place}/young-{number}.json"), days - 1, "12345");
        due.push(format!("{place}/old-{number}.json"));
    }
    due.sort();
    assert_eq!(scene.plan(), due);
}

/// C21: nothing that is open ever goes, however old; nor what is no file of the court.
#[test]
fn what_is_open_stays() {
    let scene = Scene::new();
    for place in [
        "queue/events/pending",
        "queue/events/dispatched",
        "queue/tasks/pending",
        "queue/tasks/in_progress",
        "queue/messages/pending",
        "state/questions/open",
        "state/schedules",
        "state/sources",
        "state/sequences",
        "state/locks",
        "state/heartbeats",
    ] {
        scene.file(&format!("{place}/a-{}.json", place.len()), 4000, "{}");
    }
    scene.file("court.toml", 4000, "");
    scene.file("generals/a.toml", 4000, "");
    scene.file("queue/events/completed/notes.txt", 4000, "mine");
    assert_eq!(scene.plan(), Vec::<String>::new());
}

/// C21: a result is kept while its task is not over, a message while its task is open, and all of both while people are
/// asked.
#[test]
fn what_belongs_to_something_open_stays() {
    let scene = Scene::new();
    for (task, place) in
        [("task-20260101-001", "queue/tasks/pending"), ("task-20260101-002", "queue/tasks/in_progress")]
    {
        scene.file(&format!("{place}/{task}.json"), 4000, "{}");
        scene.file(&format!("state/results/{task}.json"), 4000, "{}");
        scene.file(&format!("state/threads/{task}.json"), 4000, "{}");
        scene.file(&format!("state/threads/proclamation-{task}.json"), 4000, "{}");
        scene.file(&format!("state/attempts/{task}/1/output.log"), 4000, "x");
        date(&scene.folder.path(&format!("state/attempts/{task}")), 4000);
    }
    scene.file("queue/messages/sent/msg-20260101-001.json", 4000, &message("task-20260101-002"));
    scene.file("state/questions/open/task-20260101-003.json", 4000, "{}");
    for place in ["queue/tasks/completed", "state/results", "state/threads"] {
        scene.file(&format!("{place}/task-20260101-003.json"), 4000, "{}");
    }
    assert_eq!(scene.plan(), Vec::<String>::new());
    scene.file("queue/messages/sent/msg-20260101-001.json", 4000, &message("task-20260101-009"));
    assert_eq!(scene.plan(), ["queue/messages/sent/msg-20260101-001.json"]);
}

/// C6, C21: what a plan in a live file names stays: were it gone, it would be made a second time.
#[test]
fn what_a_plan_names_stays() {
    let scene = Scene::new();
    let plan = r#", "dispatch": {"task_id": "task-20260101-001", "thread_start": "msg-20260101-001"}"#;
    scene.file("queue/events/pending/evt-1.json", 4000, &event(plan));
    scene.file("queue/tasks/completed/task-20260101-001.json", 4000, "{}");
    scene.file("queue/messages/sent/msg-20260101-001.json", 4000, &message("other"));
    assert_eq!(scene.plan(), Vec::<String>::new());
    fs::remove_file(scene.folder.path("queue/events/pending/evt-1.json")).unwrap();
    assert_eq!(scene.plan().len(), 2);
    scene.file("state/resources.json", 0, r#"{"alert": {"message": "msg-20260101-001"}}"#);
    assert_eq!(scene.plan(), ["queue/tasks/completed/task-20260101-001.json"]);
}

/// C6, C8, C21: an event that is back in pending is known as a repeat only while the first one is kept.
#[test]
fn a_repeat_that_waits_keeps_the_first() {
    let scene = Scene::new();
    scene.file("queue/events/completed/evt-1.json", 4000, "{}");
    scene.file("queue/events/pending/evt-1.json", 0, &event(""));
    assert_eq!(scene.plan(), Vec::<String>::new());
}

/// C21: a thread goes with its task, not before; leftovers of attempts go with their directory.
#[test]
fn threads_and_attempts_go_with_their_task() {
    let scene = Scene::new();
    scene.file("queue/tasks/completed/task-20260101-001.json", 5, "{}");
    scene.file("state/threads/task-20260101-001.json", 4000, "{}");
    assert_eq!(scene.plan(), Vec::<String>::new());
    date(&scene.folder.path("queue/tasks/completed/task-20260101-001.json"), 4000);
    scene.file("state/attempts/task-20260101-001/1/output.log", 0, "123");
    date(&scene.folder.path("state/attempts/task-20260101-001"), 4000);
    assert_eq!(
        scene.plan(),
        [
            "queue/tasks/completed/task-20260101-001.json",
            "state/attempts/task-20260101-001",
            "state/threads/task-20260101-001.json"
        ]
    );
}

/// C12, C21, C23: a refused file goes with its reason, by when it was refused; a link goes and not what it leads to.
#[test]
fn refused_files_go_with_their_reasons() {
    let scene = Scene::new();
    scene.file("rejected/a.json", 4000, "x");
    scene.file("rejected/a.json.reason", 1, "lately\n");
    assert_eq!(scene.plan(), Vec::<String>::new());
    date(&scene.folder.path("rejected/a.json.reason"), 90);
    scene.file("rejected/directory.json/inner", 0, "123");
    date(&scene.folder.path("rejected/directory.json"), 90);
    scene.file("outside/precious", 4000, "x");
    symlink(scene.folder.path("outside"), scene.folder.path("rejected/link.json")).unwrap();
    scene.file("rejected/link.json.reason", 90, "a link\n");

    let strange = scene.folder.path("rejected").join(OsStr::from_bytes(b"\xff\n.json"));
    fs::write(&strange, "x").unwrap();
    date(&strange, 90);

    let removals = plan(&scene.folder, &Retention::default(), now()).unwrap();
    assert_eq!(removals.len(), 6);
    assert!(serde_json::to_value(&removals).is_ok(), "a name that is no text can be told");
    assert_eq!(execute(removals).removed.len(), 6);
    assert_eq!(fs::read_dir(scene.folder.path("rejected")).unwrap().count(), 0);
    assert!(scene.folder.path("outside/precious").exists());
}

/// C21: a dry run counts and changes nothing; what it showed is what then goes, and a second time nothing does.
#[test]
fn what_is_planned_is_what_goes() {
    let scene = Scene::new();
    scene.file("queue/events/completed/a.json", 40, "12345");
    scene.file("state/results/b.json", 50, "123");
    let removals = plan(&scene.folder, &Retention::default(), now()).unwrap();
    let days: Vec<i64> = removals.iter().map(|removal| removal.age_s / 86_400).collect();
    assert_eq!(days, [40, 50]);
    assert!(scene.folder.path("queue/events/completed/a.json").exists());
    let bytes: Vec<u64> = execute(removals.clone()).removed.iter().map(|removal| removal.bytes).collect();
    assert_eq!(bytes, [5, 3]);
    let again = execute(removals);
    assert!(again.removed.is_empty() && again.failed.is_empty(), "{again:?}");
    assert_eq!(scene.plan(), Vec::<String>::new());
    let keep_nothing = Retention { events_days: 0.0, ..Retention::default() };
    scene.file("queue/events/completed/a.json", 0, &Document::new().to_file());
    assert_eq!(plan(&scene.folder, &keep_nothing, now()).unwrap().len(), 1);
}

/// C21: what cannot be removed keeps nothing else, and both are told.
#[test]
fn what_stays_keeps_nothing_else() {
    let scene = Scene::new();
    scene.file("state/results/b.json", 50, "123");
    let mut removals = plan(&scene.folder, &Retention::default(), now()).unwrap();
    // Nothing can be removed under what is no directory, whoever runs this.
    let under = scene.folder.path("state/results/b.json/under");
    removals.insert(0, Removal { path: under.clone(), ..removals[0].clone() });
    let pruned = execute(removals);
    assert_eq!(pruned.removed.len(), 1);
    assert_eq!(pruned.failed.iter().map(|kept| &kept.path).collect::<Vec<_>>(), [&under]);
    assert!(!pruned.failed[0].error.is_empty() && !scene.folder.path("state/results/b.json").exists());
}
