mod closing;
mod dispatching;
mod slots;

use super::*;
use crate::{Document, Id, Kind, config::General, emit::emit};
use std::path::Path;

/// A court in a temporary directory, whose clock is moved by hand.
struct Scene {
    _directory: tempfile::TempDir,
    folder: Folder,
    king: King,
    now: Timestamp,
    /// The king obeys the host's health (C19).
    obeys: bool,
}

impl Scene {
    fn new(generals: &[(&str, &str)]) -> Self {
        Self::with(generals, false)
    }

    /// A court whose king obeys the host's health.
    fn obeying(generals: &[(&str, &str)]) -> Self {
        Self::with(generals, true)
    }

    fn with(generals: &[(&str, &str)], obeys: bool) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let folder = Folder::open(directory.path()).unwrap();
        let now: Timestamp = "2026-02-07T10:00:00Z".parse().unwrap();
        let king = king(generals, obeys);
        let scene = Self { _directory: directory, folder, king, now, obeys };
        scene.set_health("green");
        scene
    }

    /// Lets another king go on where this one is.
    fn restart(&mut self, generals: &[(&str, &str)]) {
        self.king = king(generals, self.obeys);
        self.king.begin(&self.folder, self.now).unwrap();
    }

    fn step(&mut self) {
        while self.king.step(&self.folder, self.now).unwrap() {}
    }

    fn set_health(&self, colour: &str) {
        let text = format!(r#"{{"timestamp": "{}", "health": "{colour}", "system": {{}}}}"#, self.now);
        std::fs::write(self.folder.path("state/resources.json"), text).unwrap();
    }

    fn advance_s(&mut self, seconds: i64) {
        self.now = self.now.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap();
    }

    fn emit(&self, event: &str) -> Id {
        emit(&self.folder, Document::parse(event.as_bytes()).unwrap(), self.now).unwrap().id().clone()
    }

    /// Plays the general: takes the one task that waits and leaves a result for it.
    fn finish(&self, task: &Id, members: &str) {
        if self.folder.has(Place::TasksPending, task) {
            self.folder.advance(task, Place::TasksPending, Place::TasksInProgress).unwrap();
        }
        let result = format!(r#"{{"task_id": "{task}", {members}}}"#);
        let path = self.folder.file(Place::Results, task);
        self.folder.replace(&path, result.as_bytes()).unwrap();
    }

    fn ids(&self, place: Place) -> Vec<String> {
        let mut ids: Vec<String> = self.folder.ids(place).unwrap().iter().map(ToString::to_string).collect();
        ids.sort();
        ids
    }

    fn only(&self, place: Place) -> Document {
        let ids = self.folder.ids(place).unwrap();
        assert_eq!(ids.len(), 1, "{} has {ids:?}", place.path());
        self.folder.read(place, &ids[0]).unwrap()
    }

    /// The messages that wait, in order.
    fn messages(&self) -> Vec<Document> {
        let mut ids = self.folder.ids(Place::MessagesPending).unwrap();
        ids.sort();
        ids.iter().map(|id| self.folder.read(Place::MessagesPending, id).unwrap()).collect()
    }
}

fn king(generals: &[(&str, &str)], obey_health: bool) -> King {
    let mut court = court(generals);
    court.settings.king.obey_health = obey_health;
    King::new(court, "dev-eddy".to_owned()).unwrap()
}

fn court(generals: &[(&str, &str)]) -> Court {
    let mut court = Court::default();
    for (name, text) in generals {
        let mut general: General = toml::from_str(text).unwrap();
        general.name = (*name).to_owned();
        court.generals.insert(general.name.clone(), general);
    }
    court
}

fn id(text: &str) -> Id {
    Id::parse(text).unwrap()
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

const EVENT: &str = r#"{"id": "e1", "type": "github.pr.review_requested", "source": "s", "payload": {}}"#;

/// C3: the directory is right, wherever a word disagrees, in what is over too.
#[test]
fn the_directory_is_right() {
    let mut scene = Scene::new(&[PR]);
    scene.emit(EVENT);
    scene.step();
    let task = id("task-20260207-001");
    scene.finish(&task, r#""status": "skipped", "summary": "s", "reason": "r""#);
    scene.step();
    scene.emit(&EVENT.replace("e1", "e2"));
    scene.step();
    for (place, id, word) in [
        (Place::EventsCompleted, id("e1"), "pending"),
        (Place::EventsDispatched, id("e2"), "pending"),
        (Place::TasksCompleted, task.clone(), "in_progress"),
    ] {
        let mut document = scene.folder.read(place, &id).unwrap();
        document.set_text("status", word);
        scene.folder.write(place, &id, &document).unwrap();
    }
    scene.restart(&[PR]);
    scene.step();
    let status = |place, id: &Id| scene.folder.read(place, id).unwrap().text("status").unwrap();
    assert_eq!(status(Place::EventsCompleted, &id("e1")), "completed");
    assert_eq!(status(Place::EventsDispatched, &id("e2")), "dispatched");
    assert_eq!(status(Place::TasksCompleted, &task), "skipped");
}

const PR: (&str, &str) = ("gen-pr", "subscribes = ['github.pr.review_requested']\ncommand = ['true']");
