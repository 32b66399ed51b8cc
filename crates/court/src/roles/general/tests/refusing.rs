//! A disk that refuses some of what it is asked.

use super::scene::{Scene, at, exited};
use crate::{Fuse, Operation, Place};
use std::{fs, io, sync::Arc};

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
