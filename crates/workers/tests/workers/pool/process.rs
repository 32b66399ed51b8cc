//! P16: a worker that is a process of its own, killed without warning.

use super::server::{Fault, StandIn};
use crate::worker_binary;
use serde_json::json;
use std::{fs, path::Path, process::Stdio};
use tokio::process::{Child, Command};

fn start(server: &StandIn, directory: &Path, script: &str) -> Child {
    let mut worker = Command::new(worker_binary());
    worker.args(["pool", &server.url]).arg(directory).args(["sh", "-c", script, "sh"]).arg(directory);
    worker.stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap()
}

/// Counts how often it is run.
const COUNTING: &str = "echo . >> $1/runs; date +%N > $1/now; printf '{\"now\": \"%s\"}' $(cat $1/now)";

/// P16: a result that is on disk is submitted by the next life, first, byte for byte, and is not executed again.
#[tokio::test]
async fn a_killed_worker_submits_what_it_had_written_down() {
    let (server, place) = (StandIn::start(), tempfile::tempdir().unwrap());
    server.fail_always("submit", Some(Fault::Status(503, "busy")));
    let mut worker = start(&server, place.path(), COUNTING);
    server.hand_out(65, json!({}));
    let refused = server.nth("POST jobs/submit", 0).await;
    worker.kill().await.unwrap();
    server.fail_always("submit", None);
    let before = server.calls().len();
    let mut worker = start(&server, place.path(), COUNTING);
    server.nth("POST jobs/resume", 1).await;
    assert_eq!(server.desk().results[&65], refused.body);
    let calls = server.calls()[before..].to_vec();
    assert_eq!(calls[..4], ["POST auth/login", "GET workers", "POST jobs/submit", "POST jobs/resume"]);
    server.hand_out(129, json!({}));
    server.result(129).await;
    assert_eq!(fs::read_to_string(place.path().join("runs")).unwrap().lines().count(), 2);
    worker.kill().await.unwrap();
}

/// P8, P16: a result that was taken, and whose answer died with the worker, is recognised by its bytes.
#[tokio::test]
async fn a_result_that_was_taken_is_recognised() {
    let (server, place) = (StandIn::start(), tempfile::tempdir().unwrap());
    server.fail_always("submit", Some(Fault::Lost));
    let mut worker = start(&server, place.path(), COUNTING);
    server.hand_out(65, json!({}));
    server.result(65).await;
    worker.kill().await.unwrap();
    server.fail_always("submit", None);
    let taken = server.desk().results[&65].clone();
    let mut worker = start(&server, place.path(), COUNTING);
    server.nth("POST jobs/resume", 1).await;
    let submitted = server.desk().calls.iter().rfind(|call| call.what == "POST jobs/submit").cloned();
    assert_eq!((submitted.unwrap().body, &server.desk().results[&65]), (taken.clone(), &taken));
    worker.kill().await.unwrap();
    let spool = muster_spool::Directory::for_reading(place.path().join("spool"));
    assert_eq!(muster_spool::set_aside_entries(&spool).unwrap(), []);
}

/// P6, P16: what was started and has no result is executed again, under the same assignment, and never beside itself.
#[tokio::test]
async fn a_killed_worker_executes_again_what_had_no_result() {
    let (server, place) = (StandIn::start(), tempfile::tempdir().unwrap());
    let script = "[ -e $1/busy ] && echo twice >> $1/twice; touch $1/busy; echo . >> $1/runs
        until [ -e $1/go ]; do sleep 0.01; done; rm $1/busy; echo '{}'";
    let mut worker = start(&server, place.path(), script);
    server.hand_out(65, json!({}));
    // A shell creates the file before it writes the line.
    while !fs::read_to_string(place.path().join("runs")).is_ok_and(|runs| runs.ends_with('\n')) {
        tokio::task::yield_now().await;
    }
    worker.kill().await.unwrap();
    // Its guard ends the program; the next life waits for that. What the program marks is left as it was.
    muster_worker_kit::process::wait_for_earlier_guards(&place.path().join("spool/guards.lock"))
        .await
        .unwrap();
    fs::remove_file(place.path().join("busy")).unwrap();
    fs::write(place.path().join("go"), "").unwrap();
    let mut worker = start(&server, place.path(), script);
    assert_eq!(server.result(65).await["nonce"], "nonce-65");
    assert_eq!(fs::read_to_string(place.path().join("runs")).unwrap().lines().count(), 2);
    assert!(!place.path().join("twice").exists());
    worker.kill().await.unwrap();
}
