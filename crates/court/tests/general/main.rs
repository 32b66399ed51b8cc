//! Generals with real soldiers, really ended, and with a coordinator that is played.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod coordinator;
mod fleets;
mod soldiers;

use jiff::Timestamp;
use muster_court::{
    Document, Folder, Id, Place, Wake,
    bridge::Coordinator,
    config::Court,
    file::{NewTask, Priority},
    roles::general::{GeneralSetup, run},
};
use muster_worker_kit::{http::Servers, process::Guards};
use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::Arc,
    time::Duration,
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

pub(crate) struct Scene {
    directory: TempDir,
    pub(crate) folder: Arc<Folder>,
    coordinator: Option<Coordinator>,
}

impl Scene {
    /// A general `pr`; `more` is added to its manifest.
    pub(crate) fn new(script: &str, more: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let home = directory.path();
        fs::write(home.join("court.toml"), "").unwrap();
        fs::write(home.join("soldier.sh"), script).unwrap();
        fs::create_dir(home.join("generals")).unwrap();
        let folder = Arc::new(Folder::open(home).unwrap());
        let scene = Self { directory, folder, coordinator: None };
        scene.manifest(&format!("command = [\"sh\", \"soldier.sh\"]\n{more}"));
        scene
    }

    /// A general `pr` that hands its tasks to a coordinator.
    pub(crate) fn with_fleet(url: String, manifest: &str) -> Self {
        let servers = Arc::new(Servers::parse([url.as_str()]).unwrap());
        let coordinator = Some(Coordinator { servers, token: Some("open-sesame".to_owned()) });
        let scene = Self { coordinator, ..Self::new("", "") };
        scene.manifest(manifest);
        scene
    }

    /// Gives the general another manifest.
    pub(crate) fn manifest(&self, text: &str) {
        fs::write(self.home().join("generals/pr.toml"), text).unwrap();
    }

    pub(crate) fn home(&self) -> &Path {
        self.directory.path()
    }

    /// A task for the general.
    pub(crate) fn task(&self) -> Id {
        self.task_about("{}")
    }

    /// A task for the general, with this payload.
    pub(crate) fn task_about(&self, payload: &str) -> Id {
        let id = Id::parse("task-20260226-001").unwrap();
        let (event_id, general, kind) = ("evt-test-1".to_owned(), "pr".to_owned(), "test".to_owned());
        let (payload, priority) = (payload.to_owned(), Priority::Normal);
        let task = NewTask { event_id, general, kind, payload, priority };
        let created: Timestamp = "2026-02-26T10:00:00Z".parse().unwrap();
        assert!(self.folder.create(Place::TasksPending, &id, &task.document(&id, created)).unwrap());
        id
    }

    /// Runs the general in here until something holds.
    pub(crate) async fn run_until(&self, holds: impl Fn() -> bool) {
        let stop = CancellationToken::new();
        let running = run(Arc::clone(&self.folder), self.post(), stop.clone());
        let watching = async {
            self.wait_until(holds).await;
            stop.cancel();
        };
        let (ran, ()) = tokio::join!(running, watching);
        ran.unwrap();
    }

    /// Runs the general in here until its task has a result.
    pub(crate) async fn result(&self, id: &Id) -> Document {
        self.run_until(|| self.folder.has(Place::Results, id)).await;
        self.folder.read(Place::Results, id).unwrap()
    }

    /// Starts the general as a process of its own, with these variables.
    pub(crate) fn spawn(&self, variables: &[(&str, &str)]) -> Child {
        let mut command = Command::new(program());
        command.arg(self.home()).arg("pr").envs(variables.iter().copied());
        command.stdin(Stdio::null()).spawn().unwrap()
    }

    /// Looks whenever a file may have appeared; the time that the test may take is the only limit.
    pub(crate) async fn wait_until(&self, holds: impl Fn() -> bool) {
        let wake = Wake::on(&[self.home()], Duration::from_millis(20));
        while !holds() {
            wake.wait(None).await;
        }
    }

    pub(crate) fn in_progress(&self, id: &Id) -> Document {
        self.folder.read(Place::TasksInProgress, id).unwrap()
    }

    /// Every process of a soldier here, zombies left out.
    pub(crate) fn soldiers(&self) -> Vec<String> {
        let mark = format!("MUSTER_TASK_PATH={}", self.home().display());
        let processes = fs::read_dir("/proc").unwrap().flatten().map(|entry| entry.path());
        let is_marked = |path: &PathBuf| {
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            environment.windows(mark.len()).any(|window| window == mark.as_bytes())
        };
        let name = |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default();
        processes.filter(is_marked).map(name).collect()
    }

    fn post(&self) -> GeneralSetup {
        let court = Court::read(self.home()).unwrap();
        let post = GeneralSetup::new(
            &self.folder,
            court.generals["pr"].clone(),
            "ops".to_owned(),
            self.coordinator.clone(),
        );
        let guards = Guards { program: program(), args: vec!["guard".into()], ..post.guards };
        GeneralSetup { guards, ..post }
    }
}

pub(crate) fn statuses(document: &Document) -> Vec<String> {
    document.objects("attempts").iter().map(|attempt| attempt.text("status").unwrap()).collect()
}

/// What a script does to leave a result.
pub(crate) const SUCCEED: &str = r#"
printf '{"task_id": "%s", "status": "success", "summary": "done"}' "$MUSTER_TASK_ID" > "$MUSTER_RESULT_PATH"
"#;

fn program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples/court_general");
    assert!(path.exists(), "{} is built by `cargo build --examples`", path.display());
    path
}
