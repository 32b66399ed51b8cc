//! The court's files, read as anybody could who is given the directory.

use crate::failure::Failure;
use muster_court::{Document, Folder, Id, Kind, Place};
use std::collections::{BTreeMap, BTreeSet};

/// The files of a court that has stopped.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// Events that are over, by id.
    pub(super) events: BTreeSet<String>,
    pub(super) tasks: Vec<TaskFile>,
    /// The status of each result, by task.
    pub(super) results: BTreeMap<String, String>,
    /// Messages that were sent, with the task whose end they tell, if any.
    pub(super) sent: BTreeMap<String, Option<String>>,
    /// Files that are still under way, or were given up.
    pub(super) leftovers: Vec<String>,
}

/// One task.
#[derive(Clone, Debug, Default)]
pub(super) struct TaskFile {
    pub(super) id: String,
    pub(super) event: String,
    /// Its end, from its file.
    pub(super) status: String,
    /// Attempts that ended with the court.
    pub(super) interrupted: usize,
    /// The kind and the id of its work at the server.
    pub(super) remote: BTreeSet<(String, String)>,
}

impl Record {
    pub(super) fn read(folder: &Folder) -> Result<Self, Failure> {
        let mut record = Self::default();
        for kind in [Kind::Event, Kind::Task, Kind::Message] {
            for place in kind.places() {
                for id in folder.listed(*place)? {
                    record.take(*place, &id, &folder.read(*place, &id)?);
                }
            }
        }
        for id in folder.listed(Place::Results)? {
            let status = folder.read(Place::Results, &id)?.text("status").unwrap_or_default();
            record.results.insert(id.to_string(), status);
        }
        for file in std::fs::read_dir(folder.path("rejected"))? {
            record.leftovers.push(format!("rejected/{}", file?.file_name().display()));
        }
        Ok(record)
    }

    fn take(&mut self, place: Place, id: &Id, file: &Document) {
        match place {
            Place::EventsCompleted => {
                self.events.insert(id.to_string());
            }
            Place::TasksCompleted => self.tasks.push(TaskFile::of(id, file)),
            Place::MessagesSent => {
                let tells_the_end = file.text("type").as_deref() == Some("notification");
                let task = file.object("context").and_then(|context| context.text("task_id"));
                self.sent.insert(id.to_string(), task.filter(|_| tells_the_end));
            }
            elsewhere => self.leftovers.push(format!("{}/{id}.json", elsewhere.path())),
        }
    }
}

impl TaskFile {
    fn of(id: &Id, file: &Document) -> Self {
        let attempts = file.objects("attempts");
        let is_interrupted = |attempt: &&Document| attempt.raw("interrupted") == Some("true");
        let remote = |attempt: &Document| {
            let remote = attempt.object("remote")?;
            Some((remote.text("kind")?, remote.text("id")?))
        };
        Self {
            id: id.to_string(),
            event: file.text("event_id").unwrap_or_default(),
            status: file.text("status").unwrap_or_default(),
            interrupted: attempts.iter().filter(is_interrupted).count(),
            remote: attempts.iter().filter_map(remote).collect(),
        }
    }
}
