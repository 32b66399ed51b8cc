//! A court for the tests of the doctor: its files are as old as a test says.

use super::written;
use crate::{
    Document, Folder, Id, Kind, Place, RoleLock,
    config::{Court, General, Settings},
    file::{MessageKind, NewMessage, NewTask, Priority, Urgency},
    roles::chamberlain::{Chamberlain, Sample},
};
use jiff::Timestamp;
use std::collections::BTreeMap;

/// A court with a general who has one soldier and one who uses a fleet. The doctor comes later; the files stay as they are.
pub(super) struct Scene {
    _home: tempfile::TempDir,
    pub(super) folder: Folder,
    pub(super) court: Court,
    /// The time at which the court was made.
    pub(super) made: Timestamp,
    locks: Vec<RoleLock>,
}

impl Scene {
    pub(super) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = Folder::open(home.path()).unwrap();
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
    pub(super) fn start(&mut self, role: &str) -> &mut Self {
        self.locks.push(RoleLock::take(&self.folder, role).unwrap());
        self
    }

    /// Lets the chamberlain report a load.
    pub(super) fn report_host(&self, cpu_percent: f64, now: Timestamp) {
        let sample = Sample { cpu_percent, ..Sample::default() };
        Chamberlain::new(Default::default(), "ops".to_owned()).look(&self.folder, &sample, now).unwrap();
    }

    pub(super) fn event(&self, place: Place, more: &str) {
        let status = place.statuses()[0];
        let text = format!(
            r#"{{"id": "evt-1", "type": "a.b", "source": "s", "repo": null, "payload": {{}}, "priority": "normal",
                "created_at": "2026-02-07T10:00:00Z", "status": "{status}"{more}}}"#
        );
        self.write(place, "evt-1", &text);
    }

    /// Puts the task into a directory, and nowhere else.
    pub(super) fn task(&self, place: Place, general: &str, more: &[(&str, &str)]) -> Id {
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

    pub(super) fn message(&self, place: Place, more: &[(&str, &str)]) {
        let id = Id::parse("msg-20260207-001").unwrap();
        let (channel, content, context) = ("ops".to_owned(), "c".to_owned(), Document::new());
        let kind = MessageKind::ThreadStart;
        let message = NewMessage { kind, channel, urgency: Urgency::Normal, content, context };
        let message = changed(message.document(&id, self.made), place, more);
        self.folder.write(place, &id, &message).unwrap();
    }

    pub(super) fn write(&self, place: Place, id: &str, text: &str) {
        let document = Document::parse(text.as_bytes()).unwrap();
        self.folder.write(place, &Id::parse(id).unwrap(), &document).unwrap();
    }
}

/// A document as it is in a directory, with some members changed.
fn changed(mut document: Document, place: Place, more: &[(&str, &str)]) -> Document {
    document.set_text("status", place.statuses()[0]);
    for (key, raw) in more {
        document.set_raw(key, *raw);
    }
    document
}
