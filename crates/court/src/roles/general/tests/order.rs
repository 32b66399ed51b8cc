//! Who begins when.

use super::scene::{SUCCESS, Scene, at, exists, exited, leave};
use crate::{Id, Kind, Place, file::Priority};

/// C16: tasks are claimed by rename, by priority, then age, then id, and never more than there are soldiers for.
#[test]
fn the_most_urgent_then_the_oldest_is_claimed_first() {
    let mut scene = Scene::new("max_soldiers = 2");
    let low = scene.task(1, ("pr", Priority::Low), at(-9));
    let late = scene.task(2, ("pr", Priority::Normal), at(-1));
    let early = scene.task(3, ("pr", Priority::Normal), at(-2));
    let high = scene.task(4, ("pr", Priority::High), at(0));
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
    let other = scene.task(1, ("briefing", Priority::High), at(0));
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
