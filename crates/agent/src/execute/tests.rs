//! Whole tasks on devices that exist in the agent only, and on real drivers that reach nobody.

use super::*;
use crate::Artifact;
use crate::driver::adb::AdbSettings;
use crate::driver::{Cause, StepFailure};
use crate::workflow::reason_named;
use muster_model::Timestamp;
use muster_worker_kit::clock::instant_now;
use muster_worker_kit::process::Guards;
use serde_json::{Value, json};
use std::sync::Mutex;
use std::{fs, time::Duration};
use tempfile::TempDir;

const SHIPPED: &str = "login_settings_screenshot_v1";

/// An executor, and where its files are.
struct Scene {
    directory: TempDir,
    executor: Executor,
}

/// Takes every upload; the path is the size of its file.
#[derive(Debug)]
struct Anywhere;

impl Uploads for Anywhere {
    fn upload<'a>(&'a self, upload: Upload<'a>) -> UploadFuture<'a> {
        let picture = fs::read(upload.file).unwrap();
        assert!(picture.starts_with(b"\x89PNG"), "{}", upload.content_type);
        let (storage_path, public_url) = (picture.len().to_string(), "http://elsewhere".to_owned());
        Box::pin(async { Ok(Artifact { kind: upload.kind.to_owned(), storage_path, public_url }) })
    }
}

/// Takes no upload.
#[derive(Debug)]
struct Nowhere;

impl Uploads for Nowhere {
    fn upload<'a>(&'a self, _: Upload<'a>) -> UploadFuture<'a> {
        Box::pin(async {
            Err(StepFailure { cause: Cause::Other, message: "nowhere to upload to".to_owned() })
        })
    }
}

fn scene(source: &str, workflow: &str) -> Scene {
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("workflows");
    fs::create_dir(&files).unwrap();
    if !workflow.is_empty() {
        fs::write(files.join("mine.toml"), format!("timeoutMs = 60000\n{workflow}")).unwrap();
    }
    let guards = Guards::of_own_binary(directory.path().join("lock"));
    let now = Arc::new(|| Timestamp(1_760_000_000_000));
    // Port 1 answers nobody, and no such program can start a server.
    let nobody = AdbSettings { port: 1, program: "/no/such/adb".into(), ..AdbSettings::default() };
    let executor = Executor {
        workflows: Workflows::load(Some(&files)).unwrap(),
        fleet: Fleet::new(source.parse().unwrap(), "PC-01", now).with_adb(nobody),
        programs: CommandDriver { guards },
        uploads: Arc::new(Nowhere),
        scratch: Scratch::new(directory.path().join("work")),
    };
    Scene { directory, executor }
}

fn step(id: &str, rest: &str) -> String {
    format!("[[steps]]\nid = '{id}'\ntimeoutMs = 1000\n{rest}\n")
}

fn job(workflow: &str, params: &Value) -> Job {
    Job {
        task: "t1".into(),
        run: "r1".into(),
        device: "sim-0007".into(),
        handle: "sim-0007".into(),
        workflow: workflow.into(),
        params: params.to_string().into(),
        timeout: Millis(180_000),
        attempt: 1,
        token: None,
    }
}

impl Scene {
    async fn run(&self, job: &Job) -> (End, Vec<String>) {
        self.run_until(job, &CancellationToken::new()).await
    }

    async fn run_until(&self, job: &Job, cancel: &CancellationToken) -> (End, Vec<String>) {
        let told = Mutex::new(Vec::new());
        let progress =
            |step: &str, status: StepStatus| told.lock().unwrap().push(format!("{step} {status:?}"));
        let end = self.executor.run(job, "sim-0007", &progress, cancel).await;
        (end, told.into_inner().unwrap())
    }
}

async fn simulated(simulate: Value) -> (End, Vec<String>) {
    scene("simulated:9", "").run(&job(SHIPPED, &json!({"simulate": simulate}))).await
}

fn reason_and_error(end: End) -> (&'static str, String) {
    let End::Failed { reason, error, .. } = end else { panic!("it did not fail: {end:?}") };
    (reason.as_str(), error)
}

/// N11, N22, N23: simulated devices go through every step, tell each, and have an artifact at the contract's path.
#[tokio::test(start_paused = true)]
async fn simulated_devices_do_every_step() {
    let scene = scene("simulated:9", "");
    let (end, told) = scene.run(&job(SHIPPED, &json!({"youtubeVideoId": "dQw4/w9W"}))).await;
    let steps = ["PREFLIGHT", "BOOTSTRAP", "LOGIN_FLOW", "SCREENSHOT", "UPLOAD"];
    let expected: Vec<_> =
        steps.iter().flat_map(|step| [format!("{step} Running"), format!("{step} Done")]).collect();
    assert_eq!(told, expected);
    let storage_path = "videos/dQw4~2Fw9W/PC-01/sim-0007/r1/1760000000000.png".to_owned();
    let public_url = format!("simulated:{storage_path}");
    let artifact = Artifact { kind: "screenshot".to_owned(), storage_path, public_url };
    assert_eq!(end, End::Succeeded { artifact: Some(artifact) });
    assert_eq!(fs::read_dir(scene.directory.path().join("work")).unwrap().count(), 0);
}

/// N13, N23: a run can have any step fail for any of the contract's reasons; the steps before were done.
#[tokio::test(start_paused = true)]
async fn any_reason_can_be_simulated() {
    for reason in FailureReason::ALL {
        let (end, told) =
            simulated(json!({"fail_step": "LOGIN_FLOW", "failure_reason": reason.as_str()})).await;
        assert_eq!(reason_and_error(end), (reason.as_str(), "LOGIN_FLOW: simulated failure".to_owned()));
        assert_eq!(told.last().unwrap(), "LOGIN_FLOW Running");
    }
}

/// N13: without a better word the step tells the reason.
#[tokio::test(start_paused = true)]
async fn the_step_tells_the_reason() {
    for (step, reason) in [
        ("PREFLIGHT", "unknown"),
        ("LOGIN_FLOW", "unknown"),
        ("SCREENSHOT", "screenshot_error"),
        ("UPLOAD", "upload_error"),
    ] {
        let (end, _) = simulated(json!({"fail_step": step})).await;
        assert_eq!(reason_and_error(end).0, reason, "{step}");
    }
}

/// N13: a step that runs out of time says so, with its own reason, after its last try.
#[tokio::test(start_paused = true)]
async fn a_step_that_hangs_runs_out_of_time() {
    for (step, reason, limit, tries) in [
        ("PREFLIGHT", "unknown", 20_000, 1),
        ("LOGIN_FLOW", "login_flow_timeout", 120_000, 1),
        ("SCREENSHOT", "screenshot_error", 30_000, 2),
        ("UPLOAD", "upload_error", 60_000, 3),
    ] {
        let begun = instant_now();
        let (end, _) = simulated(json!({"hang_step": step, "step_ms": 0})).await;
        let error = format!("timeout: {step} took longer than {limit} ms");
        let reason = reason_named(reason).unwrap();
        assert_eq!(end, End::Failed { reason, error, timed_out: true });
        let took = begun.elapsed().as_millis();
        assert!((limit * tries..limit * tries + 1000).contains(&took), "{step} took {took} ms");
    }
}

/// N13, N22: a failed BOOTSTRAP is passed over, unless it is critical.
#[tokio::test(start_paused = true)]
async fn bootstrap_may_fail_unless_it_is_critical() {
    let (end, told) = simulated(json!({"fail_step": "BOOTSTRAP"})).await;
    assert!(matches!(end, End::Succeeded { artifact: Some(_) }));
    assert!(told.contains(&"BOOTSTRAP Done".to_owned()));
    let text = step("BOOTSTRAP", "kind = 'upload'\nonFailure = 'continue'\nparams.critical = true");
    let scene = scene("simulated:9", &text);
    let (end, _) = scene.run(&job("mine", &json!({"simulate": {"fail_step": "BOOTSTRAP"}}))).await;
    assert_eq!(reason_and_error(end).0, "bootstrap_critical_failed");
}

/// N13: a step may name its reason, and the driver's better knowledge still comes first.
#[tokio::test(start_paused = true)]
async fn a_step_may_name_its_reason() {
    let text = step("TAP", "kind = 'upload'\nparams.failure_reason = 'vendor_command_error'");
    let scene = scene("simulated:9", &text);
    for (simulate, reason) in [
        (json!({"fail_step": "TAP"}), "vendor_command_error"),
        (json!({"fail_step": "TAP", "failure_reason": "adb_offline"}), "adb_offline"),
    ] {
        let (end, _) = scene.run(&job("mine", &json!({"simulate": simulate}))).await;
        assert_eq!(reason_and_error(end).0, reason);
    }
}

/// N13: every cause that a driver tells has its word.
#[test]
fn every_cause_has_its_word() {
    let directory = scene("simulated:1", "");
    let workflow = directory.executor.workflows.get(SHIPPED).unwrap();
    let screenshot = workflow.steps.iter().find(|step| step.id == "SCREENSHOT").unwrap();
    for (cause, word) in [
        (Cause::NeedsUsbAuthorization, "needs_usb_authorization"),
        (Cause::AdbOffline, "adb_offline"),
        (Cause::AdbMissing, "adb_missing"),
        (Cause::VendorWs, "vendor_ws_error"),
        (Cause::VendorCommand, "vendor_command_error"),
        (Cause::EmulatorNotOnline, "emulator_not_online"),
        (Cause::EmulatorNotBooted, "emulator_not_booted"),
        (Cause::Named(FailureReason::CallbackError), "callback_error"),
        (Cause::Other, "screenshot_error"),
        (Cause::Cancelled, "screenshot_error"),
    ] {
        assert_eq!(reason_of(screenshot, cause, false).as_str(), word);
    }
}

/// N23: a share of attempts fails, the same ones each time, others with another seed, and late ones need not.
#[tokio::test(start_paused = true)]
async fn a_share_of_attempts_fails_reproducibly() {
    let scene = scene("simulated:200", "");
    let failures = async |simulate: Value, attempt| {
        let mut failed = Vec::new();
        for device in scene.executor.fleet.discover().await.unwrap() {
            let job = job(SHIPPED, &json!({"simulate": simulate}));
            let job = Job { device: device.device.clone(), attempt, ..job };
            failed.extend(matches!(scene.run(&job).await.0, End::Failed { .. }).then_some(device.device));
        }
        failed
    };
    let some = failures(json!({"fail_percent": 10, "seed": 1}), 1).await;
    assert!((10..30).contains(&some.len()), "{}", some.len());
    assert_eq!(failures(json!({"fail_percent": 10, "seed": 1, "fail_step": "UPLOAD"}), 1).await, some);
    assert_ne!(failures(json!({"fail_percent": 10, "seed": 2}), 1).await, some);
    assert_ne!(failures(json!({"fail_percent": 10, "seed": 1}), 2).await, some);
    assert_eq!(failures(json!({"fail_percent": 100, "fail_attempts": 2}), 2).await.len(), 200);
    assert_eq!(failures(json!({"fail_percent": 100, "fail_attempts": 2}), 3).await.len(), 0);
    assert_eq!(failures(json!({"fail_percent": 0}), 1).await.len(), 0);
}

/// N21, N23: asked for pictures, a simulated device uploads a real one; not asked, it touches no network.
#[tokio::test(start_paused = true)]
async fn simulated_devices_can_leave_pictures() {
    let mut scene = scene("simulated:9", "");
    scene.executor.uploads = Arc::new(Anywhere);
    let (end, _) = scene.run(&job(SHIPPED, &json!({"simulate": {"pictures": true}}))).await;
    let End::Succeeded { artifact: Some(artifact) } = end else { panic!("{end:?}") };
    assert_eq!((artifact.kind.as_str(), artifact.public_url.as_str()), ("screenshot", "http://elsewhere"));
    let (end, _) = scene.run(&job(SHIPPED, &json!({}))).await;
    let End::Succeeded { artifact: Some(artifact) } = end else { panic!("{end:?}") };
    assert!(artifact.public_url.starts_with("simulated:"));
}

/// N23: a mistake in `simulate` is a failure that names it, not something that was simulated.
#[tokio::test(start_paused = true)]
async fn a_mistake_in_simulate_is_named() {
    for (simulate, word) in [
        (json!({"fail_stp": "UPLOAD"}), "unknown field `fail_stp`"),
        (json!({"step_ms": "x"}), "invalid type: string \"x\""),
        (json!({"failure_reason": "bad"}), "failure_reason \"bad\" is none of the contract's"),
    ] {
        let (reason, error) = reason_and_error(simulated(simulate).await.0);
        assert!(
            reason == "unknown" && error.starts_with("PREFLIGHT: params.simulate: ") && error.contains(word),
            "{error}"
        );
    }
}

/// N1: whoever is stopped tells nothing more, and nothing of it runs on.
#[tokio::test(start_paused = true)]
async fn a_stopped_task_ends() {
    let scene = scene("simulated:9", "");
    let cancel = CancellationToken::new();
    let job = job(SHIPPED, &json!({"simulate": {"hang_step": "LOGIN_FLOW"}}));
    let stopper = async {
        tokio::time::sleep(Duration::from_secs(60)).await;
        cancel.cancel();
    };
    let ((end, told), ()) = tokio::join!(scene.run_until(&job, &cancel), stopper);
    assert_eq!(end, End::Stopped { reason: FailureReason::LoginFlowTimeout });
    assert_eq!(told.last().unwrap(), "LOGIN_FLOW Running");
    let (end, told) = scene.run_until(&job, &cancel).await;
    assert_eq!((end, told.len()), (End::Stopped { reason: FailureReason::Unknown }, 0));
}

/// N13: with no file to upload, with no adb, with no vendor's program: each real cause has its reason.
#[tokio::test]
async fn real_causes_have_their_reasons() {
    let adb = "kind = 'adb'\ncommand = ['get-state']";
    for (source, text, reason, error) in [
        ("adb", step("PREFLIGHT", adb), "adb_missing", "PREFLIGHT: "),
        (
            "vendor:ws://127.0.0.1:1",
            step("TAP", "kind = 'vendor'\naction = 'click'"),
            "vendor_ws_error",
            "TAP: ",
        ),
        (
            "adb",
            step("UPLOAD", "kind = 'upload'"),
            "upload_error",
            "UPLOAD: no step before left a file behind",
        ),
        ("adb", step("KEEP", "kind = 'upload'"), "upload_error", "KEEP: no step before left a file behind"),
        (
            "adb",
            step("CHECK", "kind = 'assert'\nparams.contains = 'x'"),
            "unknown",
            "CHECK: the step before said nothing",
        ),
        (
            "adb",
            step("WAIT", "kind = 'sleep'\nparams.ms = '{{MS}}'"),
            "unknown",
            "WAIT: params.ms is no number: \"soon\"",
        ),
        (
            "adb",
            step("WAIT", "kind = 'sleep'\nparams.ms = 5000"),
            "unknown",
            "timeout: WAIT took longer than 1000 ms",
        ),
        (
            "adb",
            step("SCREENSHOT", "kind = 'adb'\ncommand = ['shell', '{{GONE}}']"),
            "unknown",
            "SCREENSHOT: the run has no parameter GONE, which {{GONE}} asks for",
        ),
    ] {
        let (end, _) = scene(source, &text).run(&job("mine", &json!({"MS": "soon"}))).await;
        let found = reason_and_error(end);
        assert!(found.0 == reason && found.1.starts_with(error), "{found:?}");
    }
}

/// N22: what cannot be executed at all fails with words.
#[tokio::test]
async fn what_cannot_be_executed_fails_with_words() {
    let scene = scene("adb", &step("WAIT", "kind = 'sleep'\nparams.ms = 0"));
    let (end, told) = scene.run(&job("../mine", &json!({}))).await;
    let error = "no workflow \"../mine\" here; there is login_settings_screenshot_v1, mine".to_owned();
    assert_eq!((reason_and_error(end), told.len()), (("unknown", error), 0));
    let broken = Job { params: "{".into(), ..job("mine", &json!({})) };
    assert!(reason_and_error(scene.run(&broken).await.0).1.starts_with("the run's parameters are no JSON"));
}

/// N12: an error is bounded, between two characters.
#[test]
fn errors_are_bounded() {
    assert_eq!(crate::core::bounded("x"), "x");
    assert_eq!(crate::core::bounded(&"日".repeat(2000)), "日".repeat(1365));
}

/// N18: what an earlier life left is gone before the first task, and tasks never share a directory.
#[tokio::test]
async fn each_task_has_a_directory_of_its_own() {
    let scene = scene("adb", "");
    let root = scene.directory.path().join("work");
    fs::create_dir_all(root.join("1/old")).unwrap();
    let scratch = &scene.executor.scratch;
    let (first, second) = (scratch.make().await.unwrap(), scratch.make().await.unwrap());
    assert_ne!(first, second);
    assert_eq!(fs::read_dir(&first).unwrap().count(), 0);
    scratch.remove(&first).await;
    assert!(!first.exists() && second.exists());
}

/// N22: the whole task's limits are known.
#[test]
fn the_limits_of_workflows_are_known() {
    let scene = scene("adb", &step("WAIT", "kind = 'sleep'\nparams.ms = 0"));
    let limits: Vec<_> = scene.executor.timeouts().collect();
    assert_eq!(limits, [(SHIPPED, Millis(180_000)), ("mine", Millis(60_000))]);
}
