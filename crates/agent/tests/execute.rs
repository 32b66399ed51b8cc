//! Whole tasks with real programs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "../../worker-kit/tests/support/mod.rs"]
mod support;

use muster_agent::driver::Fleet;
use muster_agent::driver::command::CommandDriver;
use muster_agent::driver::{Cause, StepFailure};
use muster_agent::execute::{Executor, Scratch, Upload, UploadFuture, Uploads};
use muster_agent::workflow::Workflows;
use muster_agent::{Artifact, End, Job, StepStatus};
use muster_model::{FailureReason, Millis, Timestamp};
use muster_worker_kit::process::Guards;
use std::sync::{Arc, Mutex};
use std::{fs, path::Path};
use support::{Bell, example, marked_processes};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// Keeps what is uploaded, and refuses as often as it is told to.
#[derive(Debug, Default)]
struct Shelf {
    kept: Mutex<Vec<String>>,
    refusals: Mutex<u32>,
}

impl Uploads for Shelf {
    fn upload<'a>(&'a self, upload: Upload<'a>) -> UploadFuture<'a> {
        let mut refusals = self.refusals.lock().unwrap();
        if *refusals > 0 {
            *refusals -= 1;
            let message = "the store is full".to_owned();
            return Box::pin(async { Err(StepFailure { cause: Cause::Other, message }) });
        }
        let content = fs::read_to_string(upload.file).unwrap();
        let (kind, content_type, name) = (upload.kind, upload.content_type, upload.name);
        let path = upload.storage_path;
        self.kept.lock().unwrap().push(format!("{kind} {content_type} {name:?} {path:?} {content}"));
        let storage_path = format!("shelf/{kind}");
        Box::pin(async { Ok(Artifact { kind: "k".to_owned(), storage_path, public_url: "u".to_owned() }) })
    }
}

/// A node whose devices stand in a file.
struct Scene {
    directory: TempDir,
    shelf: Arc<Shelf>,
    executor: Executor,
}

fn scene(devices: &str, workflow: &str) -> Scene {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    fs::create_dir(at("workflows")).unwrap();
    if !workflow.is_empty() {
        fs::write(at("workflows/mine.toml"), format!("timeoutMs = 60000\n{workflow}")).unwrap();
    }
    fs::write(at("devices.toml"), devices).unwrap();
    let source = format!("command:{}", at("devices.toml").display()).parse().unwrap();
    let guards = Guards { program: example("agent_guard"), args: Vec::new(), lock: at("guards.lock") };
    let shelf = Arc::new(Shelf::default());
    let executor = Executor {
        workflows: Workflows::load(Some(&at("workflows"))).unwrap(),
        fleet: Fleet::new(source, "PC-01", Arc::new(|| Timestamp(0))),
        programs: CommandDriver { guards },
        uploads: shelf.clone(),
        scratch: Scratch::new(at("work")),
    };
    Scene { directory, shelf, executor }
}

impl Scene {
    async fn run(&self, workflow: &str, params: &str) -> End {
        self.run_until(workflow, params, &CancellationToken::new()).await
    }

    async fn run_until(&self, workflow: &str, params: &str, cancel: &CancellationToken) -> End {
        let job = Job {
            task: "task-1".into(),
            run: "run-1".into(),
            device: "kiosk-1".into(),
            handle: "old-handle".into(),
            workflow: workflow.into(),
            params: params.into(),
            timeout: Millis(60_000),
            attempt: 3,
            token: Some("secret-token".into()),
        };
        self.executor.run(&job, "10.0.0.7", &|_: &str, _: StepStatus| {}, cancel).await
    }

    fn kept(&self) -> Vec<String> {
        self.shelf.kept.lock().unwrap().clone()
    }

    fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Nothing runs, and no file of the task is left.
    fn assert_nothing_left(&self) {
        let mark = format!("MUSTER_SCRATCH={}", self.path().display());
        assert_eq!(marked_processes(&mark), Vec::<String>::new());
        assert_eq!(fs::read_dir(self.path().join("work")).unwrap().count(), 0);
    }
}

fn sh(id: &str, script: &str, rest: &str) -> String {
    format!(
        "[[steps]]\nid = '{id}'\nkind = 'command'\ntimeoutMs = 20000\n{rest}\ncommand = ['sh', '-c', '''{script}''']\n"
    )
}

fn failed(end: End) -> (&'static str, String) {
    let End::Failed { reason, error, .. } = end else { panic!("it did not fail: {end:?}") };
    (reason.as_str(), error)
}

/// N22, N23: the shipped workflow runs on any hardware, with the device file's programs for its steps.
#[tokio::test]
async fn the_shipped_workflow_runs_on_any_hardware() {
    let devices = "
        [[devices]]
        device_id = 'kiosk-1'
        [steps]
        PREFLIGHT = ['test', '{{runtime_handle}}', '=', '10.0.0.7']
        BOOTSTRAP = ['false']
        LOGIN_FLOW = ['sh', '-c', 'test \"$1\" = \"a b; exit 1\"', 'sh', '{{TEXT}}']
        SCREENSHOT = ['sh', '-c', 'echo picture > \"$MUSTER_SCRATCH/artifact.png\"']";
    let scene = scene(devices, "");
    let end = scene.run("login_settings_screenshot_v1", r#"{"TEXT": "a b; exit 1"}"#).await;
    assert!(matches!(end, End::Succeeded { artifact: Some(_) }), "{end:?}");
    assert_eq!(scene.kept(), ["screenshot image/png None None picture\n"]);
    scene.assert_nothing_left();
}

/// N23: a program knows its task, and nothing of the agent's secrets.
#[tokio::test]
async fn a_program_knows_its_task() {
    let script = "env | grep -v -e ^PWD -e ^SHLVL -e ^_ -e ^OLDPWD | sort > artifact.txt";
    let scene =
        scene("", &(sh("TELL", script, "") + "[[steps]]\nid = 'KEEP'\nkind = 'upload'\ntimeoutMs = 5000"));
    scene.run("mine", r#"{"A": "x y"}"#).await;
    let kept = scene.kept().remove(0);
    assert!(!kept.contains("secret-token") && !kept.contains("CARGO"), "{kept}");
    let named: Vec<&str> = kept.split_whitespace().filter(|word| word.starts_with("MUSTER_")).collect();
    let scratch = format!("MUSTER_SCRATCH={}", scene.path().join("work/1").display());
    let expected = [
        "MUSTER_ATTEMPT=3",
        "MUSTER_DEVICE_ID=kiosk-1",
        "MUSTER_PARAMS={\"A\":",
        "MUSTER_RUN_ID=run-1",
        "MUSTER_RUNTIME_HANDLE=10.0.0.7",
        scratch.as_str(),
        "MUSTER_TASK_ID=task-1",
    ];
    let sorted = |mut words: Vec<&str>| {
        words.sort_unstable();
        words.join("\n")
    };
    assert_eq!(sorted(named), sorted(expected.to_vec()));
    assert!(kept.contains("MUSTER_PARAMS={\"A\": \"x y\"}"), "{kept}");
}

/// N13: a program that fails gives its step's reason and its last words; its arguments stay out of it.
#[tokio::test]
async fn a_program_that_fails_has_its_last_words() {
    for (id, reason) in [
        ("BOOTSTRAP", "bootstrap_critical_failed"),
        ("LOGIN_FLOW", "unknown"),
        ("SCREENSHOT", "screenshot_error"),
        ("OTHER", "unknown"),
    ] {
        let scene = scene("", &sh(id, "for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 3", ""));
        let error = format!("{id}: sh ended with 3: line 2\nline 3\nline 4\nline 5\nline 6");
        assert_eq!(failed(scene.run("mine", "{}").await), (reason, error));
    }
    let scene = scene(
        "",
        "[[steps]]\nid = 'A'\nkind = 'command'\ntimeoutMs = 5000\ncommand = ['/no/such', '{{SECRET}}']",
    );
    let (_, error) = failed(scene.run("mine", r#"{"SECRET": "hunter2"}"#).await);
    assert!(error.contains("cannot start /no/such: No such file") && !error.contains("hunter2"), "{error}");
}

/// N13, N18: a program that hangs is ended with its children when its step's time is over.
#[tokio::test]
async fn a_program_that_hangs_is_ended() {
    let script = "trap \"\" TERM; (setsid sleep 1000 &) ; sleep 1001";
    let step = sh("LOGIN_FLOW", script, "").replace("20000", "500");
    let scene = scene("", &step);
    let end = scene.run("mine", "{}").await;
    let error = "timeout: LOGIN_FLOW took longer than 500 ms".to_owned();
    assert_eq!(failed(end), ("login_flow_timeout", error));
    scene.assert_nothing_left();
}

/// N1, N18: a task that is stopped is gone when the executor says so.
#[tokio::test]
async fn a_stopped_task_is_gone() {
    let home = tempfile::tempdir().unwrap();
    let bell = Bell::hang(home.path());
    let script = format!("(setsid sleep 1000 &) ; {}; sleep 1001", bell.ring("ready")).replace('\'', "\"");
    let scene = scene("", &sh("LOGIN_FLOW", &script, "onFailure = 'retry'\nretryCount = 5"));
    let cancel = CancellationToken::new();
    let (end, ()) = tokio::join!(scene.run_until("mine", "{}", &cancel), async {
        bell.rung().await;
        cancel.cancel();
    });
    assert_eq!(end, End::Stopped { reason: FailureReason::LoginFlowTimeout });
    scene.assert_nothing_left();
}

/// N22: a step is tried again as often as it may, and an upload too.
#[tokio::test]
async fn steps_are_tried_again() {
    let flaky = "echo x >> ../../tries; echo done > artifact.json; test $(wc -l < ../../tries) = 3";
    let steps = sh("FLAKY", flaky, "onFailure = 'retry'\nretryCount = 2")
        + "[[steps]]\nid = 'UPLOAD'\nkind = 'upload'\ntimeoutMs = 5000\nonFailure = 'retry'\nretryCount = 2\nparams.kind = 'report'";
    let scene = scene("", &steps);
    *scene.shelf.refusals.lock().unwrap() = 2;
    let end = scene.run("mine", "{}").await;
    assert!(
        matches!(&end, End::Succeeded { artifact: Some(artifact) } if artifact.storage_path == "shelf/report"),
        "{end:?}"
    );
    assert_eq!(scene.kept(), ["report application/json None None done\n"]);
    fs::write(scene.path().join("tries"), "").unwrap();
    *scene.shelf.refusals.lock().unwrap() = 3;
    assert_eq!(
        failed(scene.run("mine", "{}").await),
        ("upload_error", "UPLOAD: the store is full".to_owned())
    );
}

/// N21, N22: several uploads are told apart, and go where the workflow says.
#[tokio::test]
async fn several_uploads_are_told_apart() {
    let upload = |id| format!("[[steps]]\nid = '{id}'\nkind = 'upload'\ntimeoutMs = 5000\n");
    let steps = "storage_path = 'shots/{device_id}/{kind}.{ext}'\n".to_owned()
        + &sh("ONE", "echo 1 > artifact.jpg", "")
        + &upload("KEEP_ONE")
        + &sh("TWO", "rm artifact.jpg; echo 2 > artifact.txt", "")
        + &upload("KEEP_TWO");
    let scene = scene("", &steps);
    scene.run("mine", "{}").await;
    let path = "Some(\"shots/{device_id}/{kind}.{ext}\")";
    assert_eq!(
        scene.kept(),
        [
            format!("screenshot image/jpeg Some(\"KEEP_ONE\") {path} 1\n"),
            format!("log text/plain Some(\"KEEP_TWO\") {path} 2\n")
        ]
    );
}

/// N21: a link is no file of the task's, wherever it leads.
#[tokio::test]
async fn a_link_is_not_uploaded() {
    let steps = sh("LINK", "ln -s /etc/hostname artifact.png", "")
        + "[[steps]]\nid = 'UPLOAD'\nkind = 'upload'\ntimeoutMs = 5000";
    let scene = scene("", &steps);
    let error = "UPLOAD: no step before left a file behind".to_owned();
    assert_eq!(failed(scene.run("mine", "{}").await), ("upload_error", error));
}

/// N22: assertions compare what the last step said.
#[tokio::test]
async fn assertions_compare_what_was_said() {
    for (wanted, error) in [
        ("equals = 'state: {{STATE}}'", None),
        ("contains = 'ready'", None),
        ("equals = 'ready'", Some("CHECK: \"state: ready\" is not \"ready\"")),
        ("contains = 'Ready'", Some("CHECK: \"state: ready\" does not contain \"Ready\"")),
    ] {
        let steps = sh("SAY", "echo; echo state: ready", "")
            + "[[steps]]\nid = 'WAIT'\nkind = 'sleep'\nparams.ms = 1\ntimeoutMs = 5000\n"
            + &format!("[[steps]]\nid = 'CHECK'\nkind = 'assert'\nparams.{wanted}\ntimeoutMs = 5000\n");
        let end = scene("", &steps).run("mine", r#"{"STATE": "ready"}"#).await;
        match error {
            None => assert_eq!(end, End::Succeeded { artifact: None }),
            Some(error) => assert_eq!(failed(end), ("unknown", error.to_owned())),
        }
    }
}

/// N22: after a step that failed and was passed over, an assertion does not take an earlier step's words for its own.
#[tokio::test]
async fn a_failed_step_said_nothing() {
    let steps = sh("SAY", "echo ready", "")
        + &sh("FAIL", "exit 1", "onFailure = 'continue'")
        + "[[steps]]\nid = 'CHECK'\nkind = 'assert'\nparams.equals = 'ready'\ntimeoutMs = 5000\n";
    let error = "CHECK: the step before said nothing".to_owned();
    assert_eq!(failed(scene("", &steps).run("mine", "{}").await), ("unknown", error));
}

/// N23: a mistake in the device file stops the task in words.
#[tokio::test]
async fn a_mistake_in_the_device_file_is_named() {
    let scene = scene("[steps]\nA = 1", &sh("A", "true", ""));
    let (reason, error) = failed(scene.run("mine", "{}").await);
    assert!(reason == "unknown" && error.contains("devices.toml: A must be a list of texts"), "{error}");
}
