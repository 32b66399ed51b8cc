//! Who begins when.

use super::{SUCCESS, Scene, Waiting, at, exists, exited, leave, put_task};
use crate::{
    Document, FILE_BYTES_MAX, Fuse, Id, Kind, Operation, Place,
    file::Priority,
    roles::general::{Ending, Start},
};
use std::{fs, io, sync::Arc};

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
    let rubbish = Id::parse("task-20260226-003").unwrap();
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
