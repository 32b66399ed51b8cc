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
mod tests {
    use super::*;
    use crate::scene::{court, now};
    use std::{
        ffi::OsStr,
        fs::File,
        os::unix::{ffi::OsStrExt, fs::symlink},
    };

    struct Scene {
        _home: tempfile::TempDir,
        folder: Folder,
    }

    impl Scene {
        fn new() -> Self {
            let (home, folder) = court();
            Self { _home: home, folder }
        }

        /// A file of so many days.
        fn file(&self, path: &str, days: i64, text: &str) {
            let path = self.folder.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            date(&path, days);
        }

        /// The paths that would go, from the court's home.
        fn plan(&self) -> Vec<String> {
            let retention = Retention::default();
            let removals = plan(&self.folder, &retention, now()).unwrap();
            let relative = |removal: &Removal| {
                removal.path.strip_prefix(self.folder.home()).unwrap().display().to_string()
            };
            let mut paths: Vec<String> = removals.iter().map(relative).collect();
            paths.sort();
            paths
        }
    }

    fn date(path: &Path, days: i64) {
        let at = now() - SignedDuration::from_hours(24 * days);
        File::open(path).unwrap().set_modified(at.into()).unwrap();
    }

    fn message(task: &str) -> String {
        format!(
            r#"{{"id": "msg-20260101-001", "type": "report", "channel": "c", "urgency": "normal", "content": "x",
                "context": {{"task_id": "{task}"}}, "created_at": "2026-01-01T00:00:00Z", "status": "sent"}}"#
        )
    }

    fn event(more: &str) -> String {
        format!(
            r#"{{"id": "evt-1", "type": "a.b", "source": "s", "payload": {{}}, "priority": "normal",
                "created_at": "2026-01-01T00:00:00Z", "status": "pending"{more}}}"#
        )
    }

    /// C21: retention per directory; what is over and old goes, what is younger stays.
    #[test]
    fn what_is_over_goes_when_it_is_old() {
        let scene = Scene::new();
        let places = [
            ("queue/events/completed", 30),
            ("queue/tasks/completed", 30),
            ("queue/messages/sent", 30),
            ("queue/messages/failed", 30),
            ("state/results", 30),
            ("state/questions/answered", 30),
            ("state/threads", 30),
            ("rejected", 90),
        ];
        let mut due: Vec<String> = Vec::new();
        for (number, (place, days)) in places.into_iter().enumerate() {
            scene.file(&format!("{place}/old-{number}.json"), days, "12345");
            scene.file(&format!("{place}/young-{number}.json"), days - 1, "12345");
            due.push(format!("{place}/old-{number}.json"));
        }
        due.sort();
        assert_eq!(scene.plan(), due);
    }

    /// C21: nothing that is open ever goes, however old; nor what is no file of the court.
    #[test]
    fn what_is_open_stays() {
        let scene = Scene::new();
        for place in [
            "queue/events/pending",
            "queue/events/dispatched",
            "queue/tasks/pending",
            "queue/tasks/in_progress",
            "queue/messages/pending",
            "state/questions/open",
            "state/schedules",
            "state/sources",
            "state/sequences",
            "state/locks",
            "state/heartbeats",
        ] {
            scene.file(&format!("{place}/a-{}.json", place.len()), 4000, "{}");
        }
        scene.file("court.toml", 4000, "");
        scene.file("generals/a.toml", 4000, "");
        scene.file("queue/events/completed/notes.txt", 4000, "mine");
        assert_eq!(scene.plan(), Vec::<String>::new());
    }

    /// C21: a result is kept while its task is not over, a message while its task is open, and all of both while people are
    /// asked.
    #[test]
    fn what_belongs_to_something_open_stays() {
        let scene = Scene::new();
        for (task, place) in
            [("task-20260101-001", "queue/tasks/pending"), ("task-20260101-002", "queue/tasks/in_progress")]
        {
            scene.file(&format!("{place}/{task}.json"), 4000, "{}");
            scene.file(&format!("state/results/{task}.json"), 4000, "{}");
            scene.file(&format!("state/threads/{task}.json"), 4000, "{}");
            scene.file(&format!("state/threads/proclamation-{task}.json"), 4000, "{}");
            scene.file(&format!("state/attempts/{task}/1/output.log"), 4000, "x");
            date(&scene.folder.path(&format!("state/attempts/{task}")), 4000);
        }
        scene.file("queue/messages/sent/msg-20260101-001.json", 4000, &message("task-20260101-002"));
        scene.file("state/questions/open/task-20260101-003.json", 4000, "{}");
        for place in ["queue/tasks/completed", "state/results", "state/threads"] {
            scene.file(&format!("{place}/task-20260101-003.json"), 4000, "{}");
        }
        assert_eq!(scene.plan(), Vec::<String>::new());
        scene.file("queue/messages/sent/msg-20260101-001.json", 4000, &message("task-20260101-009"));
        assert_eq!(scene.plan(), ["queue/messages/sent/msg-20260101-001.json"]);
    }

    /// C6, C21: what a plan in a live file names stays: were it gone, it would be made a second time.
    #[test]
    fn what_a_plan_names_stays() {
        let scene = Scene::new();
        let plan = r#", "dispatch": {"task_id": "task-20260101-001", "thread_start": "msg-20260101-001"}"#;
        scene.file("queue/events/pending/evt-1.json", 4000, &event(plan));
        scene.file("queue/tasks/completed/task-20260101-001.json", 4000, "{}");
        scene.file("queue/messages/sent/msg-20260101-001.json", 4000, &message("other"));
        assert_eq!(scene.plan(), Vec::<String>::new());
        fs::remove_file(scene.folder.path("queue/events/pending/evt-1.json")).unwrap();
        assert_eq!(scene.plan().len(), 2);
        scene.file("state/resources.json", 0, r#"{"alert": {"message": "msg-20260101-001"}}"#);
        assert_eq!(scene.plan(), ["queue/tasks/completed/task-20260101-001.json"]);
    }

    /// C6, C8, C21: an event that is back in pending is known as a repeat only while the first one is kept.
    #[test]
    fn a_repeat_that_waits_keeps_the_first() {
        let scene = Scene::new();
        scene.file("queue/events/completed/evt-1.json", 4000, "{}");
        scene.file("queue/events/pending/evt-1.json", 0, &event(""));
        assert_eq!(scene.plan(), Vec::<String>::new());
    }

    /// C21: a thread goes with its task, not before; leftovers of attempts go with their directory.
    #[test]
    fn threads_and_attempts_go_with_their_task() {
        let scene = Scene::new();
        scene.file("queue/tasks/completed/task-20260101-001.json", 5, "{}");
        scene.file("state/threads/task-20260101-001.json", 4000, "{}");
        assert_eq!(scene.plan(), Vec::<String>::new());
        date(&scene.folder.path("queue/tasks/completed/task-20260101-001.json"), 4000);
        scene.file("state/attempts/task-20260101-001/1/output.log", 0, "123");
        date(&scene.folder.path("state/attempts/task-20260101-001"), 4000);
        assert_eq!(
            scene.plan(),
            [
                "queue/tasks/completed/task-20260101-001.json",
                "state/attempts/task-20260101-001",
                "state/threads/task-20260101-001.json"
            ]
        );
    }

    /// C12, C21, C23: a refused file goes with its reason, by when it was refused; a link goes and not what it leads to.
    #[test]
    fn refused_files_go_with_their_reasons() {
        let scene = Scene::new();
        scene.file("rejected/a.json", 4000, "x");
        scene.file("rejected/a.json.reason", 1, "lately\n");
        assert_eq!(scene.plan(), Vec::<String>::new());
        date(&scene.folder.path("rejected/a.json.reason"), 90);
        scene.file("rejected/directory.json/inner", 0, "123");
        date(&scene.folder.path("rejected/directory.json"), 90);
        scene.file("outside/precious", 4000, "x");
        symlink(scene.folder.path("outside"), scene.folder.path("rejected/link.json")).unwrap();
        scene.file("rejected/link.json.reason", 90, "a link\n");

        let strange = scene.folder.path("rejected").join(OsStr::from_bytes(b"\xff\n.json"));
        fs::write(&strange, "x").unwrap();
        date(&strange, 90);

        let removals = plan(&scene.folder, &Retention::default(), now()).unwrap();
        assert_eq!(removals.len(), 6);
        assert!(serde_json::to_value(&removals).is_ok(), "a name that is no text can be told");
        assert_eq!(execute(removals).removed.len(), 6);
        assert_eq!(fs::read_dir(scene.folder.path("rejected")).unwrap().count(), 0);
        assert!(scene.folder.path("outside/precious").exists());
    }

    /// C21: a dry run counts and changes nothing; what it showed is what then goes, and a second time nothing does.
    #[test]
    fn what_is_planned_is_what_goes() {
        let scene = Scene::new();
        scene.file("queue/events/completed/a.json", 40, "12345");
        scene.file("state/results/b.json", 50, "123");
        let removals = plan(&scene.folder, &Retention::default(), now()).unwrap();
        let days: Vec<i64> = removals.iter().map(|removal| removal.age_s / 86_400).collect();
        assert_eq!(days, [40, 50]);
        assert!(scene.folder.path("queue/events/completed/a.json").exists());
        let bytes: Vec<u64> = execute(removals.clone()).removed.iter().map(|removal| removal.bytes).collect();
        assert_eq!(bytes, [5, 3]);
        let again = execute(removals);
        assert!(again.removed.is_empty() && again.failed.is_empty(), "{again:?}");
        assert_eq!(scene.plan(), Vec::<String>::new());
        let keep_nothing = Retention { events_days: 0.0, ..Retention::default() };
        scene.file("queue/events/completed/a.json", 0, &Document::new().to_file());
        assert_eq!(plan(&scene.folder, &keep_nothing, now()).unwrap().len(), 1);
    }

    /// C21: what cannot be removed keeps nothing else, and both are told.
    #[test]
    fn what_stays_keeps_nothing_else() {
        let scene = Scene::new();
        scene.file("state/results/b.json", 50, "123");
        let mut removals = plan(&scene.folder, &Retention::default(), now()).unwrap();
        // Nothing can be removed under what is no directory, whoever runs this.
        let under = scene.folder.path("state/results/b.json/under");
        removals.insert(0, Removal { path: under.clone(), ..removals[0].clone() });
        let pruned = execute(removals);
        assert_eq!(pruned.removed.len(), 1);
        assert_eq!(pruned.failed.iter().map(|kept| &kept.path).collect::<Vec<_>>(), [&under]);
        assert!(!pruned.failed[0].error.is_empty() && !scene.folder.path("state/results/b.json").exists());
    }
}
