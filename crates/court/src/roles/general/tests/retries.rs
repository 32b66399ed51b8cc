//! Another attempt, or none.

use super::{SUCCESS, Scene, at, exited, leave, statuses};
use crate::{
    Fuse, Kind, Operation, Place,
    bridge::Fleet,
    roles::general::{Ending, GeneralMind},
};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

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
    let mut scene = Scene::new("");
    let mut general = super::general("");
    (general.command, general.executor) = (Vec::new(), crate::config::Executor::Run);
    scene.set_general(general);
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
    let mut scene = Scene::new("");
    let mut general = super::general("");
    (general.command, general.executor) = (Vec::new(), crate::config::Executor::Run);
    scene.set_general(general);
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

/// Lets so many operations pass, and none after them.
struct Burning {
    left: AtomicUsize,
}

impl Fuse for Burning {
    fn before(&self, _operation: &Operation) -> io::Result<()> {
        let left = |left: usize| left.checked_sub(1);
        let passed = self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left);
        passed.map(drop).map_err(|_| io::Error::other("the world has ended"))
    }
}

/// A soldier that fails once and then succeeds; says whether the world lasted that long.
fn story(scene: &mut Scene, from: i64) -> bool {
    for step in 0..20 {
        let now = at(from + step * 100);
        for start in scene.begins(now) {
            let number = start
                .document
                .objects("attempts")
                .iter()
                .filter(|attempt| attempt.text("status").unwrap() == "failed")
                .count();
            if number > 0 {
                leave(&start, SUCCESS);
            }
            scene.ends(&start, exited(0), now);
        }
    }
    scene.folder.ids(Place::Results).unwrap().len() == 1
}

/// C6, C16, C16b: wherever a general dies, its next life ends the task once, tells of the start once and of the retry
/// once, and no file is in two states.
#[test]
fn a_general_may_die_before_any_operation() {
    let mut operations = 0;
    loop {
        let mut scene = Scene::new("");
        let id = scene.plain(1);
        scene.burn(Arc::new(Burning { left: AtomicUsize::new(operations) }));
        let lasted = story(&mut scene, 0);
        scene.restart(at(5000));
        assert!(story(&mut scene, 5000), "before operation {operations}");
        assert_eq!(scene.folder.find(Kind::Task, &id), Some(Place::TasksInProgress));
        assert_eq!(scene.folder.ids(Place::TasksPending).unwrap(), []);
        let result = scene.result(&id).unwrap();
        assert_eq!(result.text("status").as_deref(), Some("success"), "before operation {operations}");
        let mut ends = statuses(&result);
        ends.retain(|status| status != "killed");
        assert_eq!(ends, ["failed", "success"], "before operation {operations}");
        assert_updates(&scene.updates(), operations);
        if lasted {
            break;
        }
        operations += 1;
    }
    assert!(operations > 20, "{operations}");
}

fn assert_updates(updates: &[String], operations: usize) {
    let count = |mark: &str| updates.iter().filter(|update| update.starts_with(mark)).count();
    assert_eq!(
        (count("▶️"), count("🔁"), updates.len()),
        (1, 1, 2),
        "before operation {operations}: {updates:?}"
    );
}
