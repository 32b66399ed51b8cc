//! The mind, on folders of its own, with the time handed in.

use super::{Ending, GeneralMind, Start};
use crate::{
    Document, FILE_BYTES_MAX, Folder, Fuse, Id, Kind, Operation, Place,
    bridge::Fleet,
    config::{Executor, General},
    file::{NewTask, Priority},
    roles::Step,
    scene::{court, documents, exists, id},
};
use jiff::{SignedDuration, Timestamp};
use std::{fs, io, sync::Arc};
use tempfile::TempDir;

struct Scene {
    directory: TempDir,
    folder: Folder,
    mind: GeneralMind,
    general: General,
}

impl Scene {
    /// A general with this manifest, `name = "pr"`.
    fn new(manifest: &str) -> Self {
        let (directory, folder) = court();
        let general = general(manifest);
        let mut mind = GeneralMind::new(general.clone(), "ops".to_owned());
        mind.recover(&folder, at(0)).unwrap();
        Self { directory, folder, mind, general }
    }

    /// The general dies and is born again.
    fn restart(&mut self, now: Timestamp) {
        self.folder = Folder::open(self.directory.path()).unwrap();
        self.mind = GeneralMind::new(self.general.clone(), "ops".to_owned());
        self.mind.recover(&self.folder, now).unwrap();
    }

    /// The general dies and is born again, on a disk that fails as the fuse says.
    fn restart_with(&mut self, fuse: Arc<dyn Fuse>, now: Timestamp) {
        self.burn(fuse);
        self.mind = GeneralMind::new(self.general.clone(), "ops".to_owned());
        self.mind.recover(&self.folder, now).unwrap();
    }

    /// A general that hands its tasks to a coordinator.
    fn with_fleet() -> Self {
        let mut scene = Self::new("");
        (scene.general.command, scene.general.executor) = (Vec::new(), Executor::Run);
        scene.restart(at(0));
        scene
    }

    /// The disk fails from now on as the fuse says.
    fn burn(&mut self, fuse: Arc<dyn Fuse>) {
        self.folder = Folder::with_fuse(self.directory.path(), fuse).unwrap();
    }

    /// A task of the general.
    fn task(&self, number: u32, priority: Priority, created: Timestamp) -> Id {
        put_task(&self.folder, Waiting { number, general: "pr", priority, created })
    }

    /// A task of the general, of normal priority.
    fn plain(&self, number: u32) -> Id {
        self.task(number, Priority::Normal, at(0))
    }

    /// The attempts that begin now; people are told of them.
    fn begins(&mut self, now: Timestamp) -> Vec<Start> {
        let starts = self.mind.next(&self.folder, now);
        self.mind.announce(&self.folder, now);
        starts
    }

    fn begins_one(&mut self, now: Timestamp) -> Start {
        let mut starts = self.begins(now);
        assert_eq!(starts.len(), 1, "{starts:?}");
        starts.remove(0)
    }

    fn ends(&mut self, start: &Start, ending: Ending, now: Timestamp) {
        self.mind.ended(Step { folder: &self.folder, now }, &start.task, ending);
    }

    fn result(&self, id: &Id) -> Option<Document> {
        self.folder.read(Place::Results, id).ok()
    }

    fn in_progress(&self, id: &Id) -> Document {
        self.folder.read(Place::TasksInProgress, id).unwrap()
    }

    /// The contents of the updates, in the order of their numbers.
    fn updates(&self) -> Vec<String> {
        let messages = documents(&self.folder, Place::MessagesPending);
        messages.iter().map(|message| message.text("content").unwrap()).collect()
    }
}

fn general(manifest: &str) -> General {
    let mut general: General =
        toml::from_str(&format!("command = [\"soldier\"]\nretry_after_s = 60\n{manifest}")).unwrap();
    general.name = "pr".to_owned();
    general
}

/// A task that waits in `pending/`.
struct Waiting<'a> {
    number: u32,
    general: &'a str,
    priority: Priority,
    created: Timestamp,
}

fn put_task(folder: &Folder, waiting: Waiting<'_>) -> Id {
    let Waiting { number, general, priority, created } = waiting;
    let id = id(&format!("task-20260226-{number:03}"));
    let (event_id, kind) = (format!("evt-test-{number}"), "github.pr.review_requested".to_owned());
    let payload = r#"{"n": 12345678901234567890.10}"#.to_owned();
    let task = NewTask { event_id, general: general.to_owned(), kind, payload, priority };
    assert!(folder.create(Place::TasksPending, &id, &task.document(&id, created)).unwrap());
    id
}

/// Leaves a result as a soldier does.
fn leave(start: &Start, result: &str) {
    let text = result.replace("TASK", start.task.as_str());
    std::fs::write(&start.result_path, text).unwrap();
}

fn exited(code: i32) -> Ending {
    Ending::Exited { code, last_words: String::new() }
}

/// The statuses of all attempts that a task or a result tells of.
fn statuses(document: &Document) -> Vec<String> {
    document.objects("attempts").iter().map(|attempt| attempt.text("status").unwrap()).collect()
}

/// Some seconds after a moment in February 2026.
fn at(seconds: i64) -> Timestamp {
    "2026-02-26T10:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

/// C16: tasks are claimed by rename, by priority, then age, then id, and never more than there are soldiers for.
#[test]
fn the_most_urgent_then_the_oldest_is_claimed_first() {
    let mut scene = Scene::new("max_soldiers = 2");
    let low = scene.task(1, Priority::Low, at(-9));
    let late = scene.task(2, Priority::Normal, at(-1));
    let early = scene.task(3, Priority::Normal, at(-2));
    let high = scene.task(4, Priority::High, at(0));
    let starts = scene.begins(at(1));
    assert_eq!(starts.iter().map(|start| &start.task).collect::<Vec<_>>(), [&high, &early]);
    assert_eq!(scene.in_progress(&high).text("status").as_deref(), Some("in_progress"));
    assert!(scene.begins(at(2)).is_empty(), "both soldiers are busy");
    assert!(scene.folder.has(Place::TasksPending, &late) && scene.folder.has(Place::TasksPending, &low));
    leave(&starts[0], SUCCESS);
    scene.ends(&starts[0], exited(0), at(3));
    assert_eq!(scene.mind.claim(&scene.folder, at(3))[0].task, late);
    assert_eq!(scene.mind.running(), 2);
}

/// C16: three at once where nothing is said.
#[test]
fn three_soldiers_by_default() {
    let mut scene = Scene::new("");
    (1..=5).for_each(|number| drop(scene.plain(number)));
    assert_eq!(scene.begins(at(0)).len(), 3);
}

/// C5, C12, C16: tasks of others stay where they are, what is no task is rejected, and neither holds up the rest.
#[test]
fn others_and_rubbish_are_left_and_rejected() {
    let mut scene = Scene::new("");
    let other = put_task(
        &scene.folder,
        Waiting { number: 1, general: "briefing", priority: Priority::High, created: at(0) },
    );
    let own = scene.plain(2);
    let rubbish = id("task-20260226-003");
    std::fs::write(scene.folder.file(Place::TasksPending, &rubbish), "{").unwrap();
    assert_eq!(scene.begins_one(at(0)).task, own);
    assert!(scene.folder.has(Place::TasksPending, &other));
    assert_eq!(scene.folder.find(Kind::Task, &rubbish), None);
    assert!(exists(&scene.folder.path("rejected/task-20260226-003.json")));
}

/// C6, C16: a task that was taken before is not taken twice, though its file is there again.
#[test]
fn a_task_that_was_taken_before_is_rejected() {
    let mut scene = Scene::new("");
    let id = scene.plain(1);
    scene.begins_one(at(0));
    scene.plain(1);
    assert!(scene.begins(at(1)).is_empty());
    assert_eq!(scene.folder.find(Kind::Task, &id), Some(Place::TasksInProgress));
    assert!(exists(&scene.folder.path("rejected/task-20260226-001.json")));
    assert_eq!(scene.mind.running(), 1);
}

/// C16: a soldier finds its task, and a directory of its own to leave the result in; it goes once the king has the task.
#[test]
fn an_attempt_has_a_directory_of_its_own_while_its_task_is_in_progress() {
    let mut scene = Scene::new("");
    let id = scene.plain(1);
    let start = scene.begins_one(at(0));
    assert_eq!(start.task_path, scene.folder.file(Place::TasksInProgress, &id));
    assert_eq!(start.directory, scene.folder.path("state/attempts/task-20260226-001/1"));
    assert!(start.directory.is_dir() && start.result_path.starts_with(&start.directory));
    assert_eq!(start.document.raw("payload"), Some(r#"{"n": 12345678901234567890.10}"#));
    leave(&start, SUCCESS);
    scene.ends(&start, exited(0), at(1));
    scene.begins(at(2));
    assert!(start.directory.is_dir(), "the king has not taken it yet");
    scene.folder.advance(&id, Place::TasksInProgress, Place::TasksCompleted).unwrap();
    scene.restart(at(3));
    scene.begins(at(3));
    assert!(!exists(&scene.folder.path("state/attempts/task-20260226-001")));
}

/// Refuses to make or to move anything under a path that has this in it.
struct Refusing(&'static str);

impl Fuse for Refusing {
    fn before(&self, operation: &Operation) -> io::Result<()> {
        let (Operation::Create(path) | Operation::Rename(_, path)) = operation else { return Ok(()) };
        let is_refused = path.to_string_lossy().contains(self.0);
        if is_refused { Err(io::Error::other("refused")) } else { Ok(()) }
    }
}

/// C16, C20: a retry that is due and cannot begin is tried again after a while, not without a pause.
#[test]
fn what_cannot_begin_waits() {
    let mut scene = Scene::new("");
    scene.plain(1);
    let start = scene.begins_one(at(0));
    scene.ends(&start, exited(1), at(1));
    scene.burn(Arc::new(Refusing("in_progress")));
    assert!(scene.begins(at(61)).is_empty());
    assert_eq!(scene.mind.next_deadline(), Some(at(71)));
    scene.burn(Arc::new(Refusing("nothing")));
    assert!(scene.begins(at(70)).is_empty());
    assert_eq!(scene.begins_one(at(71)).attempt, 2);
}

/// C12, C16: a file that cannot be dealt with holds up no other, neither in `pending/` nor after a restart.
#[test]
fn a_file_that_cannot_be_read_waits_alone() {
    for place in [Place::TasksPending, Place::TasksInProgress] {
        let mut scene = Scene::new("");
        let good = scene.plain(1);
        if place == Place::TasksInProgress {
            scene.begins_one(at(0));
        }
        fs::write(scene.folder.directory(place).join("bad.json"), "{").unwrap();
        fs::write(scene.folder.directory(place).join("no id"), "{").unwrap();
        scene.restart_with(Arc::new(Refusing("rejected")), at(1));
        assert_eq!(scene.begins_one(at(1)).task, good);
    }
}

/// C16: what could not be read when the general began is taken up as soon as it can be.
#[test]
fn what_was_not_read_is_taken_up_later() {
    let mut scene = Scene::new("");
    let id = scene.plain(1);
    scene.begins_one(at(0));
    let path = scene.folder.file(Place::TasksInProgress, &id);
    let task = fs::read(&path).unwrap();
    fs::write(&path, "{").unwrap();
    scene.restart_with(Arc::new(Refusing("rejected")), at(1));
    assert!(scene.begins(at(1)).is_empty());
    fs::write(&path, task).unwrap();
    assert_eq!(scene.begins_one(at(2)).attempt, 2);
}

/// The result of one attempt that is the only one.
fn judged(left: impl Fn(&Start), ending: Ending) -> Document {
    let mut scene = Scene::new("retries = 0");
    let id = scene.plain(1);
    let start = scene.begins_one(at(0));
    left(&start);
    scene.ends(&start, ending, at(1));
    scene.result(&id).unwrap()
}

fn error_of(left: impl Fn(&Start), ending: Ending) -> String {
    let result = judged(left, ending);
    assert_eq!(result.text("status").as_deref(), Some("failed"));
    result.text("error").unwrap()
}

/// C11, C16: a valid result counts as it is, to the digit, whatever the exit code; attempts are ours to tell.
#[test]
fn a_valid_result_counts() {
    for code in [0, 1, 126, 130, 137] {
        let result = judged(|start| leave(start, SUCCESS), exited(code));
        assert_eq!(result.text("status").as_deref(), Some("success"));
        assert_eq!(result.raw("x"), Some("1.50"));
        assert_eq!(result.objects("attempts").len(), 1);
    }
    let boastful =
        r#"{"task_id": "TASK", "status": "success", "summary": "s", "attempts": [{"attempt": 9}, 1]}"#;
    let result = judged(|start| leave(start, boastful), exited(0));
    assert_eq!(result.objects("attempts").len(), 1);
    assert_eq!(result.objects("attempts")[0].number("attempt"), Some(1));
}

/// C16: killed is killed, though a result lies there.
#[test]
fn whoever_was_killed_has_no_result() {
    for ending in [Ending::Killed(15), Ending::TimedOut(1.0)] {
        let result = judged(|start| leave(start, SUCCESS), ending);
        assert_eq!(result.text("status").as_deref(), Some("killed"));
    }
}

/// C16, C23: without a valid result the soldier has failed, and people learn why.
#[test]
fn no_valid_result_is_a_failure() {
    let ending = || Ending::Exited { code: 2, last_words: "no such\u{7} file".to_owned() };
    assert_eq!(error_of(|_| {}, ending()), "the soldier left no result (exit code 2: no such file)");
    let wrong = |left: &str| error_of(|start| leave(start, left), exited(0));
    assert!(wrong("{").contains("not valid JSON"));
    assert!(
        wrong(&SUCCESS.replace("TASK", "task-20260226-999")).contains("its task_id is not task-20260226-001")
    );
    assert!(wrong(&" ".repeat(FILE_BYTES_MAX + 1)).contains("larger than"));
    let link = |start: &Start| std::os::unix::fs::symlink("/etc/hostname", &start.result_path).unwrap();
    assert!(error_of(link, exited(0)).contains("not a plain file"));
    let directory = |start: &Start| std::fs::create_dir(&start.result_path).unwrap();
    assert!(error_of(directory, exited(0)).contains("not a plain file"));
    assert!(error_of(|_| {}, Ending::NotStarted("no such program".into())).contains("no such program"));
}

/// C16, C23: a result as large as may be taken is kept, with its attempts.
#[test]
fn a_full_result_is_kept() {
    let text = format!(
        r#"{{"task_id": "TASK", "status": "success", "summary": "{}"}}"#,
        "x".repeat(FILE_BYTES_MAX - 100)
    );
    let result = judged(|start| leave(start, &text), exited(0));
    assert_eq!(result.text("status").as_deref(), Some("success"));
    assert_eq!(result.objects("attempts").len(), 1);
}

/// C16, C16b: what failed is tried again twice, 60 s and 120 s later, each retry and the start is told of; then the last
/// error and every attempt stand in the result.
#[test]
fn failures_are_retried_with_growing_pauses() {
    let mut scene = Scene::new("");
    let id = scene.plain(1);
    let start = scene.begins_one(at(0));
    scene.ends(&start, exited(3), at(1));
    assert_eq!(scene.mind.next_deadline(), Some(at(61)));
    assert!(scene.begins(at(60)).is_empty());
    assert_eq!(scene.result(&id), None);
    let start = scene.begins_one(at(61));
    assert_eq!((start.attempt, start.directory.ends_with("2")), (2, true));
    scene.ends(&start, Ending::TimedOut(5.0), at(70));
    assert!(scene.begins(at(189)).is_empty());
    let start = scene.begins_one(at(190));
    leave(&start, r#"{"task_id": "TASK", "status": "failed", "summary": "no", "error": "the last"}"#);
    scene.ends(&start, exited(0), at(191));
    assert!(scene.begins(at(100_000)).is_empty());
    let result = scene.result(&id).unwrap();
    assert_eq!(result.text("error").as_deref(), Some("the last"));
    assert_eq!(statuses(&result), ["failed", "killed", "failed"]);
    let attempts = result.objects("attempts");
    assert_eq!(attempts[0].text("error").as_deref(), Some("the soldier left no result (exit code 3)"));
    assert_eq!(attempts[1].text("started_at").as_deref(), Some("2026-02-26T10:01:01.000Z"));
    assert_eq!(attempts[1].text("ended_at").as_deref(), Some("2026-02-26T10:01:10.000Z"));
    assert_eq!(
        scene.updates(),
        [
            "▶️ task-20260226-001 has begun: github.pr.review_requested (pr)",
            "🔁 task-20260226-001 is tried again (1 of 2) after: the soldier left no result (exit code 3)",
            "🔁 task-20260226-001 is tried again (2 of 2) after: no sign of life for 5 s: it was ended",
        ]
    );
    assert!(scene.folder.has(Place::TasksInProgress, &id), "the king moves it");
}

/// C16: whoever needs a human or has nothing to do is not asked again; nor is a coordinator that refused.
#[test]
fn questions_and_refusals_are_not_retried() {
    let question = r#"{"task_id": "TASK", "status": "needs_human", "summary": "s", "question": "which?"}"#;
    let skipped = r#"{"task_id": "TASK", "status": "skipped", "summary": "s", "reason": "a draft"}"#;
    for (left, ending) in [(question, exited(0)), (skipped, exited(7)), ("", Ending::Refused("no".into()))] {
        let mut scene = Scene::new("");
        let id = scene.plain(1);
        let start = scene.begins_one(at(0));
        leave(&start, left);
        scene.ends(&start, ending, at(1));
        assert!(scene.result(&id).is_some(), "{left}");
        assert_eq!(scene.mind.next_deadline(), None);
    }
}

/// C16: with no retries the first failure is the last.
#[test]
fn retries_can_be_none() {
    let mut scene = Scene::new("retries = 0");
    let id = scene.plain(1);
    let start = scene.begins_one(at(0));
    scene.ends(&start, Ending::Killed(9), at(1));
    let result = scene.result(&id).unwrap();
    assert_eq!(result.text("status").as_deref(), Some("killed"));
    assert_eq!(result.text("error").as_deref(), Some("the soldier was killed by signal 9"));
}

/// C16: a dead general's task is taken up again: a new attempt, no update, no retry spent.
#[test]
fn a_dead_generals_task_is_taken_up_again() {
    let mut scene = Scene::new("retries = 0");
    let id = scene.plain(1);
    scene.begins_one(at(0));
    scene.restart(at(5));
    let start = scene.begins_one(at(6));
    assert_eq!(start.attempt, 2);
    leave(&start, SUCCESS);
    scene.ends(&start, exited(0), at(7));
    let result = scene.result(&id).unwrap();
    assert_eq!(statuses(&result), ["killed", "success"]);
    assert_eq!(result.objects("attempts")[0].text("error").as_deref(), Some("the general ended"));
    assert_eq!(scene.updates().len(), 1);
}

/// C16: a general that is told to end records what it cut short; its next life takes it up.
#[test]
fn what_was_interrupted_is_recorded() {
    let mut scene = Scene::new("");
    let id = scene.plain(1);
    scene.begins_one(at(0));
    scene.mind.interrupted(&scene.folder, &id, at(1)).unwrap();
    assert_eq!(statuses(&scene.in_progress(&id)), ["killed"]);
    scene.restart(at(2));
    assert_eq!(scene.begins_one(at(2)).attempt, 2);
}

/// C16: a task that brings its general down each time ends some day.
#[test]
fn interruptions_are_not_free_for_ever() {
    let mut scene = Scene::new("retries = 1");
    let id = scene.plain(1);
    for life in 1..=21 {
        assert_eq!(scene.begins_one(at(life)).attempt, life.unsigned_abs());
        scene.restart(at(life));
    }
    assert!(scene.begins(at(22)).is_empty(), "the twenty-first costs a retry, with its pause");
    assert_eq!(scene.begins_one(at(82)).attempt, 22);
    assert_eq!(scene.updates().len(), 2);
    scene.restart(at(83));
    assert!(scene.begins(at(84)).is_empty());
    assert_eq!(scene.result(&id).unwrap().text("error").as_deref(), Some("the general ended"));
}

/// C6, C16: a pause goes on over a restart, and no longer than it was where the clock was set back.
#[test]
fn a_pause_outlives_the_general() {
    let mut scene = Scene::new("");
    scene.plain(1);
    let start = scene.begins_one(at(0));
    scene.ends(&start, exited(1), at(10));
    scene.restart(at(40));
    assert_eq!(scene.mind.next_deadline(), Some(at(70)));
    scene.restart(at(-1000));
    assert_eq!(scene.mind.next_deadline(), Some(at(-940)));
    scene.restart(at(500));
    assert_eq!(scene.begins_one(at(500)).attempt, 2);
}

/// C16: a clock that is set back while a retry waits does not put it off.
#[test]
fn a_clock_that_is_set_back_stops_no_retry() {
    let mut scene = Scene::new("");
    scene.plain(1);
    let start = scene.begins_one(at(0));
    scene.ends(&start, exited(1), at(10));
    assert!(scene.begins(at(11)).is_empty());
    assert_eq!(scene.begins_one(at(-5000)).attempt, 2);
}

/// C16, C17: a task that has its result is the king's, also after a restart.
#[test]
fn a_task_with_a_result_is_not_begun_again() {
    let mut scene = Scene::new("");
    scene.plain(1);
    let start = scene.begins_one(at(0));
    leave(&start, SUCCESS);
    scene.ends(&start, exited(0), at(1));
    scene.restart(at(2));
    assert!(scene.begins(at(1000)).is_empty());
}

/// C17: an attempt of which nobody knows whether the coordinator has it is handed in again as the same one; after one
/// that it had, as another.
#[test]
fn what_may_have_arrived_is_handed_in_as_the_same() {
    let mut scene = Scene::with_fleet();
    let id = scene.plain(1);
    let first = scene.begins_one(at(0));
    scene.ends(&first, Ending::TimedOut(1.0), at(1));
    let second = scene.begins_one(at(100));
    assert_eq!((second.attempt, first.handed_in_as(), second.handed_in_as()), (2, 1, 1));
    GeneralMind::hand_over(&scene.folder, &id, Fleet::Run, "r-7").unwrap();
    scene.ends(&second, Ending::TimedOut(1.0), at(101));
    assert_eq!(scene.begins_one(at(1000)).handed_in_as(), 3);
}

/// C17: what a fleet does goes on when its general dies: the same attempt, under the same id.
#[test]
fn a_fleets_attempt_outlives_the_general() {
    let mut scene = Scene::with_fleet();
    let id = scene.plain(1);
    assert_eq!(scene.begins_one(at(0)).remote, None);
    scene.restart(at(1));
    let start = scene.begins_one(at(1));
    assert_eq!((start.attempt, start.remote), (1, None));
    GeneralMind::hand_over(&scene.folder, &id, Fleet::Run, "r-7").unwrap();
    scene.restart(at(2));
    let start = scene.begins_one(at(2));
    assert_eq!((start.attempt, start.remote.as_deref()), (1, Some("r-7")));
    assert_eq!(
        scene.in_progress(&id).objects("attempts")[0].raw("remote"),
        Some(r#"{"kind": "run", "id": "r-7"}"#)
    );
    assert_eq!(scene.updates().len(), 1);
}

const SUCCESS: &str = r#"{"task_id": "TASK", "status": "success", "summary": "done", "x": 1.50}"#;
