//! Generals with real soldiers, really ended, and with a coordinator that is played.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
mod coordinator;
mod fleets;

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
    collections::BTreeMap,
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

/// The part of a script that leaves a result.
pub(crate) const SUCCEED: &str = r#"
printf '{"task_id": "%s", "status": "success", "summary": "done"}' "$MUSTER_TASK_ID" > "$MUSTER_RESULT_PATH"
"#;

fn program() -> PathBuf {
    let test = env::current_exe().unwrap();
    let path = test.parent().and_then(Path::parent).unwrap().join("examples/court_general");
    assert!(path.exists(), "{} is built by `cargo build --examples`", path.display());
    path
}

/// C0, C16: a soldier runs in the court's home, knows where its task, its result and its heartbeat are, and inherits the
/// environment without the tokens.
#[tokio::test]
async fn a_soldier_inherits_no_token() {
    let scene =
        Scene::new(&format!("pwd > where; env > seen; cat \"$MUSTER_TASK_PATH\" > task\n{SUCCEED}"), "");
    let id = scene.task();
    let secret = "hush-hush";
    let mut general = scene.spawn(&[
        ("SLACK_BOT_TOKEN", secret),
        ("SLACK_SIGNING_SECRET", secret),
        ("GITHUB_TOKEN", secret),
        ("JIRA_EMAIL", secret),
        ("JIRA_API_TOKEN", secret),
        ("MUSTER_TOKEN", secret),
        ("MUSTER_ADMIN_TOKEN", secret),
        ("HARMLESS", "kept"),
    ]);
    scene.wait_until(|| scene.folder.has(muster_court::Place::Results, &id)).await;
    general.kill().unwrap();
    general.wait().unwrap();
    let text = fs::read_to_string(scene.home().join("seen")).unwrap();
    assert!(!text.contains(secret), "{text}");
    let seen: BTreeMap<&str, &str> = text.lines().filter_map(|line| line.split_once('=')).collect();
    assert_eq!((seen["HARMLESS"], seen["MUSTER_TASK_ID"]), ("kept", id.as_str()));
    for name in ["MUSTER_TASK_PATH", "MUSTER_RESULT_PATH", "MUSTER_HEARTBEAT_PATH"] {
        assert!(seen[name].starts_with(&*scene.home().to_string_lossy()), "{name} is {}", seen[name]);
    }
    assert!(seen["MUSTER_RESULT_PATH"].contains("attempts/task-20260226-001/1/"));
    assert!(fs::read_to_string(scene.home().join("task")).unwrap().contains(id.as_str()));
    assert_eq!(
        fs::read_to_string(scene.home().join("where")).unwrap().trim(),
        scene.home().to_string_lossy()
    );
}

/// C16: a soldier that gives no sign of life is killed with all its children, those in sessions of their own included.
#[tokio::test]
async fn a_silent_soldier_is_killed_with_all_its_children() {
    let script = "setsid sleep 1000 & (setsid sh -c 'trap \"\" TERM; sleep 1001' &) ; sleep 1002";
    let scene = Scene::new(script, "timeout_s = 0.3\nretries = 0");
    let id = scene.task();
    let result = scene.result(&id).await;
    assert_eq!(result.text("status").as_deref(), Some("killed"));
    assert_eq!(result.text("error").as_deref(), Some("no sign of life for 0.3 s: it was ended"));
    assert_eq!(scene.soldiers(), Vec::<String>::new());
}

/// C16: what failed is tried again in a directory of its own; what the first printed and wrote does not count for it.
#[tokio::test]
async fn each_attempt_has_its_own_result() {
    let script = format!(
        "case $MUSTER_RESULT_PATH in */1/*) echo printed; echo broken >&2; exit 5;; esac
         cat state/attempts/$MUSTER_TASK_ID/1/output.log > kept\n{SUCCEED}"
    );
    let scene = Scene::new(&script, "retry_after_s = 0");
    let id = scene.task();
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["failed", "success"]);
    let error = result.objects("attempts")[0].text("error").unwrap();
    assert_eq!(error, "the soldier left no result (exit code 5: broken)");
    assert_eq!(fs::read_to_string(scene.home().join("kept")).unwrap(), "printed\nbroken\n");
}

/// C16: one that kills itself is killed; a program that is not there is a failure that says so.
#[tokio::test]
async fn soldiers_that_die_or_are_none() {
    let scene = Scene::new(&format!("{SUCCEED}\nkill -9 $$"), "retries = 0");
    let id = scene.task();
    let result = scene.result(&id).await;
    assert_eq!(result.text("error").as_deref(), Some("the soldier was killed by signal 9"));
    let scene = Scene::new(&format!("{SUCCEED}\nexit 137"), "retries = 0");
    let id = scene.task();
    assert_eq!(scene.result(&id).await.text("status").as_deref(), Some("success"), "a code is no signal");
    let scene = Scene::new("", "retries = 0");
    let manifest = "command = [\"./no-such-program\"]\nretries = 0";
    scene.manifest(manifest);
    let id = scene.task();
    let error = scene.result(&id).await.text("error").unwrap();
    assert!(error.contains("cannot start ./no-such-program"), "{error}");
}

/// C16, C23: no shell reads a general's command, whatever stands in it.
#[tokio::test]
async fn arguments_are_not_read_by_a_shell() {
    let scene = Scene::new("", "");
    let manifest = r#"command = ["sh", "-c", 'printf %s "$1" > argument', "x", "$(touch evil); `touch evil` *"]
retries = 0"#;
    scene.manifest(manifest);
    let id = scene.task();
    scene.result(&id).await;
    let argument = fs::read_to_string(scene.home().join("argument")).unwrap();
    assert_eq!(argument, "$(touch evil); `touch evil` *");
    assert!(!scene.home().join("evil").exists());
}

/// A soldier that hangs, with a child in a session of its own, until the file `go` is there.
fn hanging() -> String {
    format!("[ -e go ] || {{ setsid sleep 1000 & echo > begun; sleep 1001; }}\n{SUCCEED}")
}

/// C16: told to stop, a general ends its soldiers and records what it cut short; its next life takes the task up again,
/// at no cost.
#[tokio::test]
async fn a_general_that_stops_ends_its_soldiers_and_takes_their_tasks_up_again() {
    let scene = Scene::new(&hanging(), "retries = 0");
    let id = scene.task();
    scene.run_until(|| scene.home().join("begun").exists()).await;
    assert_eq!(scene.soldiers(), Vec::<String>::new());
    assert_eq!(statuses(&scene.in_progress(&id)), ["killed"]);
    fs::write(scene.home().join("go"), "").unwrap();
    assert_eq!(statuses(&scene.result(&id).await), ["killed", "success"]);
}

/// C6, C16: after kill -9 the orphaned soldiers are ended before the task is taken up again.
#[tokio::test]
async fn a_killed_generals_soldiers_are_ended_before_its_tasks_are_taken_up() {
    let scene = Scene::new(&hanging(), "retries = 0");
    let id = scene.task();
    let mut general = scene.spawn(&[]);
    scene.wait_until(|| scene.home().join("begun").exists()).await;
    general.kill().unwrap();
    general.wait().unwrap();
    assert_eq!(statuses(&scene.in_progress(&id)), ["running"]);
    // The next soldier says whether it saw a process of the first life.
    let look =
        "grep -lF \"$PWD/state/attempts/$MUSTER_TASK_ID/1/\" /proc/[0-9]*/environ > orphans 2>/dev/null\n";
    fs::write(scene.home().join("soldier.sh"), format!("{look}{SUCCEED}")).unwrap();
    let result = scene.result(&id).await;
    assert_eq!(statuses(&result), ["killed", "success"]);
    assert_eq!(result.objects("attempts")[0].text("error").as_deref(), Some("the general ended"));
    assert_eq!(fs::read_to_string(scene.home().join("orphans")).unwrap(), "");
    assert_eq!(scene.soldiers(), Vec::<String>::new());
}

/// C17: a general for a fleet needs a coordinator, and says so at once.
#[tokio::test]
async fn a_fleet_needs_a_coordinator() {
    use muster_court::{
        config::Court,
        roles::general::{GeneralError, GeneralSetup, run},
    };
    let scene = Scene::new("", "");
    scene.manifest("executor = \"run\"");
    let general = Court::read(scene.home()).unwrap().generals["pr"].clone();
    let post = GeneralSetup::new(&scene.folder, general, "ops".to_owned(), None);
    let ran =
        run(std::sync::Arc::clone(&scene.folder), post, tokio_util::sync::CancellationToken::new()).await;
    assert!(matches!(ran, Err(GeneralError::NoCoordinator(name)) if name == "pr"));
}
