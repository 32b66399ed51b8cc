//! S8: a worker that is a process of its own, and what may happen to one.

use super::{master::StandIn, scene::processes_of};
use crate::worker_binary;
use muster_worker_kit::process::wait_for_earlier_guards;
use serde_json::{Value, json};
use std::{path::Path, process::Stdio, time::Duration};
use tokio::process::{Child, Command};

fn start(master: &StandIn, directory: &Path) -> Child {
    let mut worker = Command::new(worker_binary());
    worker.args(["sim", &master.url, "W1"]).arg(directory).args([
        "sh",
        "-c",
        "sleep 1000 & echo frame 0; sleep 1001",
    ]);
    worker
        .env("MUSTER_ENROL_SECRET", "not for programs")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .spawn()
        .unwrap()
}

fn task(directory: &Path, chunk: u64) -> Value {
    json!({"taskId": format!("t{chunk}"), "sessionId": "demo", "scenario": null, "frameRange": [0, 10],
        "globalIdChunk": {"chunkId": chunk, "range": [1, 100]}, "attempt": 1, "epoch": 1,
        "outputDirectory": directory.join(chunk.to_string())})
}

async fn until_it_runs(master: &StandIn, directory: &Path) {
    master.hand_out(task(directory, 5));
    let runs = |script: &super::master::Script| {
        let mut beats = script.calls.iter().filter(|call| call.what == "POST workers/W1/heartbeat");
        beats.any(|call| call.json()["lastFrame"] == 0).then_some(())
    };
    master.until(runs).await;
}

fn signal(worker: &Child, signal: &str) {
    let pid = worker.id().unwrap().to_string();
    assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// S8, S27: one that was stopped for longer than its master waits gives up its task when it goes on, and registers anew.
#[tokio::test]
async fn a_worker_that_was_stopped_starts_over() {
    let (master, place) = (StandIn::start(&[]), tempfile::tempdir().unwrap());
    let mut worker = start(&master, place.path());
    until_it_runs(&master, place.path()).await;
    signal(&worker, "-STOP");
    // Six intervals are the limit. This is the stop itself: nothing is waited for.
    tokio::time::sleep(Duration::from_secs(4)).await;
    assert_eq!(master.count("POST workers/register"), 1);
    signal(&worker, "-CONT");
    master.nth("POST workers/register", 1).await;
    master.nth("GET workers/W1/tasks", 1).await;
    assert_eq!(processes_of(place.path()), Vec::<String>::new());
    assert_eq!(master.count("POST tasks/t5/complete") + master.count("POST tasks/t5/fail"), 0);
    worker.kill().await.unwrap();
}

/// S1, S27: nothing of a program outlives a worker that was killed; another of the same name registers anew.
#[tokio::test]
async fn a_killed_worker_leaves_nothing_behind() {
    let (master, place) = (StandIn::start(&[]), tempfile::tempdir().unwrap());
    let mut worker = start(&master, place.path());
    until_it_runs(&master, place.path()).await;
    assert!(!processes_of(place.path()).is_empty());
    worker.kill().await.unwrap();
    wait_for_earlier_guards(&place.path().join("W1.lock")).await.unwrap();
    assert_eq!(processes_of(place.path()), Vec::<String>::new());
    let mut worker = start(&master, place.path());
    master.nth("POST workers/register", 1).await;
    master.hand_out(task(place.path(), 6));
    let begun = |script: &super::master::Script| {
        let mut told = script.calls.iter().filter(|call| call.what == "POST workers/W1/progress");
        told.any(|call| call.json()["taskId"] == "t6").then_some(())
    };
    master.until(begun).await;
    worker.kill().await.unwrap();
}
