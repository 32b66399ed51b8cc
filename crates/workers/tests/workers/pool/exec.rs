//! P16: a worker that has programs do its work.

use super::scene::{Cast, Scene};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, time::Duration};

/// Result of an assignment that this script executes.
async fn outcome(script: &'static str) -> Value {
    let scene = Scene::exec(script).await;
    scene.server.hand_out(65, json!({"a": [1, "ö"]}));
    scene.server.result(65).await
}

/// P16: the program reads the payload, knows its assignment from its environment and nothing else of the worker's, and
/// prints an object; that is submitted in its canonical form. What it leaves behind is removed.
#[tokio::test]
async fn a_program_executes_an_assignment() {
    let script = "env > $1/env.txt; pwd > $1/pwd.txt; touch left-behind; printf '{\"in\": %s, \"b\": 1.50}' \"$(cat)\"";
    let scene = Scene::exec(script).await;
    scene.server.hand_out(65, json!({"a": [1, "ö"]}));
    let result = scene.server.result(65).await;
    assert_eq!(result["output"], json!({"in": {"a": [1, "ö"]}, "b": 1.5}));
    let hash = muster_proof::sha256_hex(r#"{"b":1.5,"in":{"a":[1,"ö"]}}"#.as_bytes());
    assert_eq!(result["output_hash"], hash);
    let read = |name: &str| fs::read_to_string(scene.directory.path().join(name)).unwrap();
    let (environment, directory) = (read("env.txt"), read("pwd.txt"));
    for line in ["MUSTER_ASSIGNMENT_ID=65", "MUSTER_WORKER_ID=7", "MUSTER_WORKER_NAME=W"] {
        assert!(environment.lines().any(|other| other == line), "{line} is not in {environment}");
    }
    assert!(!environment.contains("CARGO"), "{environment}");
    assert!(directory.trim().ends_with("/work/65"), "{directory}");
    assert!(!fs::exists(directory.trim()).unwrap());
}

/// P7, P16: a program that fails, or prints what is no object, fails its assignment with the end of what it complained of.
#[tokio::test]
async fn a_failing_program_fails_its_assignment() {
    let failed = outcome("head -c 100000 /dev/zero | tr '\\0' x >&2; echo out of memory >&2; exit 3").await;
    let error = failed["error_message"].as_str().unwrap();
    assert!(error.starts_with("sh ended with 3: xxx") && error.ends_with("out of memory"), "{error}");
    assert!(error.len() < 3_000 && failed.get("output").is_none() && failed.get("output_hash").is_none());
    for (script, expected) in [
        ("echo hello", "sh: the output is no JSON: "),
        ("echo '[1]'", "sh: the output is no JSON object"),
        ("echo '{\"a\": NaN}'", "sh: the output is no JSON: "),
        ("true", "sh: the output is no JSON: "),
        ("yes", "sh printed more than 1048576 bytes"),
        ("kill -9 $$", "sh ended with 137"),
    ] {
        let error = outcome(script).await["error_message"].as_str().unwrap().to_owned();
        assert!(error.starts_with(expected), "{script}: {error}");
    }
}

/// P16: a program that ends with a code that shells use for one that could not be started fails its assignment.
#[tokio::test]
async fn a_code_of_shells_is_the_programs_own() {
    for (script, expected) in [
        ("exit 125", "sh ended with 125"),
        ("echo cannot start x >&2; exit 126", "sh ended with 126"),
        ("no-such-program", "sh ended with 127"),
    ] {
        let error = outcome(script).await["error_message"].as_str().unwrap().to_owned();
        assert!(error.starts_with(expected), "{script}: {error}");
    }
}

/// P16: a program that cannot be started is this machine's fault: the job does not fail, and is executed when it can be.
#[tokio::test]
async fn a_program_that_cannot_be_started_fails_no_job() {
    let mut scene = Scene::start(Cast { program: Some("program"), ..Cast::default() }).await;
    scene.server.hand_out(65, json!({}));
    scene.server.hand_out(129, json!({}));
    scene.report.wait_for(|report| report.state == "cannot execute").await.unwrap();
    let counts = |desk: &super::scene::Desk| (desk.queue.len(), desk.results.len());
    assert_eq!(counts(&scene.server.desk()), (1, 0));
    let (draft, program) = (scene.directory.path().join("draft"), scene.directory.path().join("program"));
    fs::write(&draft, "#!/bin/sh\necho '{}'\n").unwrap();
    fs::set_permissions(&draft, fs::Permissions::from_mode(0o700)).unwrap();
    fs::rename(draft, program).unwrap();
    for id in [65, 129] {
        assert_eq!(scene.server.result(id).await["output"], json!({}));
    }
}

/// P16: so is a directory that cannot be made.
#[tokio::test]
async fn a_directory_that_cannot_be_made_fails_no_job() {
    let mut scene = Scene::exec("echo '{}'").await;
    let scratch = scene.directory.path().join("spool/work");
    fs::write(&scratch, "in the way").unwrap();
    scene.server.hand_out(65, json!({}));
    scene.report.wait_for(|report| report.state == "cannot execute").await.unwrap();
    fs::remove_file(scratch).unwrap();
    assert_eq!(scene.server.result(65).await["output"], json!({}));
}

/// P16: what a client pays for is nobody else's to read on the machine.
#[tokio::test]
async fn payloads_are_for_the_worker_only() {
    let result =
        outcome("printf '{\"modes\":\"%s\"}' \"$(stat -c %a .. . payload.json | tr '\\n' ' ')\"").await;
    assert_eq!(result["output"]["modes"], "700 700 600 ");
}

/// P16: a program that takes too long is ended with all its children, and its assignment fails.
#[tokio::test]
async fn a_late_program_fails_its_assignment() {
    let (script, timeout) = ("setsid sleep 1000 & sleep 1001", Duration::from_millis(200));
    let scene = Scene::start(Cast { script: Some(script), timeout, ..Cast::default() }).await;
    scene.server.hand_out(65, json!({}));
    assert_eq!(scene.server.result(65).await["error_message"], "sh took longer than 0.2 s");
}

/// P6, P16: as many are executed at once as there are slots.
#[tokio::test]
async fn slots_work_side_by_side() {
    let script = "touch $1/$MUSTER_ASSIGNMENT_ID.here
        until [ $(ls $1 | grep -c here) = 3 ]; do sleep 0.01; done; echo '{}'";
    let scene = Scene::start(Cast { slots: 3, script: Some(script), ..Cast::default() }).await;
    for id in [65, 129, 193] {
        scene.server.hand_out(id, json!({}));
    }
    for id in [65, 129, 193] {
        scene.server.result(id).await;
    }
}

/// P16: a result that is longer than a server takes becomes an error before it is written down.
#[tokio::test]
async fn a_result_that_is_too_long_is_an_error() {
    let failed = outcome("printf '{\"a\":\"'; head -c 1048560 /dev/zero | tr '\\0' x; printf '\"}'").await;
    let error = failed["error_message"].as_str().unwrap();
    assert!(error.starts_with("the result takes "), "{error}");
}
