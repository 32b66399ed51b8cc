//! The world ends before each single operation on the disk, once.

use super::scene::{SUCCESS, Scene, at, exited, leave, statuses};
use crate::{Fuse, Kind, Operation, Place};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

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
