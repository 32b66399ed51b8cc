//! Removes what is over and old (C21).

use crate::{
    Document, Fault, Folder, Id, Kind, Place,
    config::Retention,
    folder::modified,
    layout::{ATTEMPTS, REJECTED},
    roles::chamberlain::RESOURCES,
};
use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};
use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

/// Something that may go.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Removal {
    /// The directory it lies in, from the court's home.
    pub place: &'static str,
    /// The file, or the directory with all that is in it.
    #[serde(serialize_with = "readable")]
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// For how many seconds nothing has happened to it.
    pub age_s: i64,
}

/// The result of a plan; files that were already gone are in neither list.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Pruned {
    /// The removed files.
    pub removed: Vec<Removal>,
    /// The files that could not be removed.
    pub failed: Vec<RemovalFailure>,
}

/// Something that could not be removed.
#[derive(Clone, Debug, Serialize)]
pub struct RemovalFailure {
    /// The file or the directory.
    #[serde(serialize_with = "readable")]
    pub path: PathBuf,
    /// The reason.
    pub error: String,
}

/// Says what is over and older than it is to be kept. Changes nothing.
pub fn plan(folder: &Folder, retention: &Retention, now: Timestamp) -> Result<Vec<Removal>, Fault> {
    let mut plan = Plan { folder, now, references: References::by(folder)?, removals: Vec::new() };
    plan.files(Place::EventsCompleted, retention.events_days, |plan, id| !plan.is_live(Kind::Event, id))?;
    plan.files(Place::TasksCompleted, retention.tasks_days, Plan::is_over)?;
    let going = plan.ids_in(Place::TasksCompleted);
    plan.files(Place::QuestionsAnswered, retention.tasks_days, Plan::is_over)?;
    let is_forgotten = |plan: &Plan<'_>, id: &Id| {
        let task = task_of_thread(id);
        plan.is_over(&task) && (going.contains(&task) || !plan.folder.has(Place::TasksCompleted, &task))
    };
    plan.files(Place::Threads, retention.tasks_days, is_forgotten)?;
    plan.attempts(retention.tasks_days)?;
    plan.files(Place::Results, retention.results_days, Plan::is_over)?;
    for place in [Place::MessagesSent, Place::MessagesFailed] {
        plan.files(place, retention.messages_days, |plan, id| {
            plan.references.lets_go_of_message(plan.folder, place, id)
        })?;
    }
    plan.rejected(retention.rejected_days)?;
    Ok(plan.removals)
}

/// Removes what was planned; what is gone already is fine, and what stays keeps nothing else from going.
///
/// Nothing is made durable: what a power cut brings back goes with the next prune.
#[must_use]
pub fn execute(removals: Vec<Removal>) -> Pruned {
    let mut pruned = Pruned::default();
    for removal in removals {
        match remove(&removal.path) {
            Ok(()) => pruned.removed.push(removal),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => pruned.failed.push(RemovalFailure { path: removal.path, error: error.to_string() }),
        }
    }
    pruned
}

/// A plan while it is made.
struct Plan<'a> {
    folder: &'a Folder,
    now: Timestamp,
    references: References,
    removals: Vec<Removal>,
}

impl Plan<'_> {
    /// Adds the files of a place that are old enough, and that nothing needs.
    fn files(&mut self, place: Place, days: f64, may_go: impl Fn(&Self, &Id) -> bool) -> Result<(), Fault> {
        for id in self.folder.listed(place)? {
            let path = self.folder.file(place, &id);
            let old = self.removal(place.path(), &path, &path).filter(|removal| is_due(removal, days));
            if let Some(removal) = old.filter(|_| may_go(self, &id)) {
                self.removals.push(removal);
            }
        }
        Ok(())
    }

    /// Adds what attempts left of tasks that are over.
    fn attempts(&mut self, days: f64) -> Result<(), Fault> {
        for path in entries(&self.folder.path(ATTEMPTS))? {
            let id = path.file_name().and_then(|name| name.to_str()).and_then(|name| Id::parse(name).ok());
            if id.is_some_and(|id| self.is_over(&id)) {
                self.removals
                    .extend(self.removal(ATTEMPTS, &path, &path).filter(|removal| is_due(removal, days)));
            }
        }
        Ok(())
    }

    /// Adds what was refused. A refused file keeps its own time, so its reason's tells when it was refused.
    fn rejected(&mut self, days: f64) -> Result<(), Fault> {
        for path in entries(&self.folder.path(REJECTED))? {
            let mut reason = path.clone().into_os_string();
            reason.push(".reason");
            let dated = if Path::new(&reason).exists() { Path::new(&reason) } else { &path };
            self.removals
                .extend(self.removal(REJECTED, &path, dated).filter(|removal| is_due(removal, days)));
        }
        Ok(())
    }

    fn removal(&self, place: &'static str, path: &Path, dated: &Path) -> Option<Removal> {
        let written = modified(&dated.symlink_metadata().ok()?)?;
        let age_s = self.now.duration_since(written).as_secs();
        Some(Removal { place, path: path.into(), bytes: size(path, DEPTH_MAX), age_s })
    }

    /// True if a task is over and nothing in progress refers to it.
    fn is_over(&self, task: &Id) -> bool {
        !self.references.tasks.contains(task)
            && !self.is_live(Kind::Task, task)
            && !self.folder.has(Place::QuestionsOpen, task)
    }

    /// True if a file of this id is in a directory that it can still leave.
    fn is_live(&self, kind: Kind, id: &Id) -> bool {
        let (_, live) = kind.places().split_last().expect("every kind has a place");
        live.iter().any(|place| self.folder.has(*place, id))
    }

    fn ids_in(&self, place: Place) -> BTreeSet<Id> {
        let paths = self.removals.iter().filter(|removal| removal.place == place.path());
        paths.filter_map(|removal| Id::of_file(removal.path.file_name()?)).collect()
    }
}

fn is_due(removal: &Removal, days: f64) -> bool {
    let kept = SignedDuration::try_from_secs_f64(days * DAY_S).unwrap_or(SignedDuration::MAX);
    removal.age_s >= kept.as_secs()
}

/// The task that a thread is about; a proclamation has a thread of its own (C15).
fn task_of_thread(id: &Id) -> Id {
    let task = id.as_str().strip_prefix("proclamation-").and_then(|task| Id::parse(task).ok());
    task.unwrap_or_else(|| id.clone())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>, Fault> {
    let entries = fs::read_dir(directory).map_err(|error| Fault::Io(directory.into(), error))?;
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    Ok(paths)
}

/// The size of a file or a tree; links are not followed, and the depth is limited.
fn size(path: &Path, depth: usize) -> u64 {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() && depth > 0 => {
            entries(path).unwrap_or_default().iter().map(|path| size(path, depth - 1)).sum()
        }
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    }
}

/// A name that is no text is one of those that are refused; it must not keep a plan from being told.
fn readable<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&path.display())
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// Ids that somebody may still look for.
///
/// A role that takes up what a crash left asks whether a file was made already: were it gone, it would be made again.
struct References {
    tasks: BTreeSet<Id>,
    messages: BTreeSet<Id>,
}

impl References {
    /// Collects the ids named by live events, tasks, schedules and alerts.
    fn by(folder: &Folder) -> Result<Self, Fault> {
        let mut references = Self { tasks: BTreeSet::new(), messages: BTreeSet::new() };
        for place in [Place::TasksPending, Place::TasksInProgress] {
            references.tasks.extend(folder.listed(place)?);
        }
        for place in [Place::EventsPending, Place::EventsDispatched, Place::TasksInProgress, Place::Schedules]
        {
            for id in folder.listed(place)? {
                if let Ok(document) = folder.read(place, &id) {
                    references.hold(&document);
                }
            }
        }
        let resources = folder.bytes(&folder.path(RESOURCES)).ok();
        if let Some(Ok(resources)) = resources.map(|bytes| Document::parse(&bytes)) {
            references.hold(&resources);
        }
        Ok(references)
    }

    /// True if a message may be removed: its task is over, and no role will check that it was written.
    fn lets_go_of_message(&self, folder: &Folder, place: Place, id: &Id) -> bool {
        if self.messages.contains(id) {
            return false;
        }
        if self.tasks.is_empty() {
            return true;
        }
        let message = folder.read(place, id).ok();
        let task = message.and_then(|message| message.object("context")?.text("task_id"));
        !task.and_then(|task| Id::parse(&task).ok()).is_some_and(|task| self.tasks.contains(&task))
    }

    fn hold(&mut self, document: &Document) {
        for member in ["dispatch", "plan", "messages", "closing", "alert"] {
            let Some(plan) = document.object(member) else { continue };
            for id in plan.keys().filter_map(|key| Id::parse(&plan.text(key)?).ok()) {
                if id.as_str().starts_with("task-") {
                    self.tasks.insert(id);
                } else {
                    self.messages.insert(id);
                }
            }
        }
    }
}

const DAY_S: f64 = 86_400.0;
const DEPTH_MAX: usize = 8;

#[cfg(test)]
mod tests;
