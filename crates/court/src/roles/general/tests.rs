//! The mind, on folders of its own, with the time handed in.

mod order;
mod retries;

use super::{Ending, GeneralMind, Start};
use crate::{
    Document, Folder, Fuse, Id, Place,
    config::General,
    file::{NewTask, Priority},
    roles::Step,
};
use jiff::{SignedDuration, Timestamp};
use std::{path::Path, sync::Arc};
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
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
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

    /// The general is another one from now on.
    fn set_general(&mut self, general: General) {
        self.general = general;
        self.restart(at(0));
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

    /// What begins now, and is told of.
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
        updates(&self.folder)
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
    let id = Id::parse(&format!("task-20260226-{number:03}")).unwrap();
    let (event_id, kind) = (format!("evt-test-{number}"), "github.pr.review_requested".to_owned());
    let payload = r#"{"n": 12345678901234567890.10}"#.to_owned();
    let task = NewTask { event_id, general: general.to_owned(), kind, payload, priority };
    assert!(folder.create(Place::TasksPending, &id, &task.document(&id, created)).unwrap());
    id
}

/// What a soldier leaves.
fn leave(start: &Start, result: &str) {
    let text = result.replace("TASK", start.task.as_str());
    std::fs::write(&start.result_path, text).unwrap();
}

fn exited(code: i32) -> Ending {
    Ending::Exited { code, last_words: String::new() }
}

fn updates(folder: &Folder) -> Vec<String> {
    let mut ids = folder.ids(Place::MessagesPending).unwrap();
    ids.sort();
    let message = |id: &Id| folder.read(Place::MessagesPending, id).unwrap();
    ids.iter().map(|id| message(id).text("content").unwrap()).collect()
}

/// The statuses of all attempts that a task or a result tells of.
fn statuses(document: &Document) -> Vec<String> {
    document.objects("attempts").iter().map(|attempt| attempt.text("status").unwrap()).collect()
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

/// Some seconds after a moment in February 2026.
fn at(seconds: i64) -> Timestamp {
    "2026-02-26T10:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

const SUCCESS: &str = r#"{"task_id": "TASK", "status": "success", "summary": "done", "x": 1.50}"#;
