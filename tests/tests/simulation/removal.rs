//! S6: a worker that takes its tasks by push is removed.

use crate::farm::Farm;
use muster_tests::{SimWorker, until};

/// S6: the master calls a removed worker that listens. The worker acknowledges it and ends, long before its next
/// heartbeat would have told it, so it is no zombie.
#[test]
fn a_removed_worker_hears_of_it_by_push() {
    let farm = Farm::start(&[("MUSTER_SIMULATION__HEARTBEAT_MS", "60000")]);
    let mut worker = SimWorker::start(&farm.server, "W1", &["--listen", "127.0.0.1:0"]);
    until("the worker is registered", || (farm.muster("worker show W1").code == 0).then_some(()));
    let removed = farm.muster("worker remove W1 --reason old-driver");
    assert_eq!(removed.code, 0, "{}", removed.stderr);
    let ended = until("the worker ends", || worker.ended());
    assert_eq!(ended.code(), Some(4), "{}", worker.log());
    assert!(worker.log().contains("the master called: it removed this worker"), "{}", worker.log());
    assert_eq!(zombies(&farm), 0);
}

/// S6: a removed worker that renders stops its task, which goes back to the queue.
#[test]
fn a_removed_worker_stops_its_task() {
    let farm = Farm::start(&[]);
    let mut worker = SimWorker::start(&farm.server, "W1", &["--listen", "127.0.0.1:0", "--fps", "1"]);
    let submitted = farm.muster("session submit night --frames 1000 --frames-per-task 1000");
    assert_eq!(submitted.code, 0, "{}", submitted.stderr);
    let is_running = || farm.server.session("night")["coverage"][0]["status"] == "running";
    until("the task runs", || is_running().then_some(()));
    assert_eq!(farm.muster("worker remove W1 --reason old-driver").code, 0);
    let ended = until("the worker ends", || worker.ended());
    assert_eq!(ended.code(), Some(4), "{}", worker.log());
    assert!(!is_running(), "the range waits for another worker");
    // A call that was on its way when the worker was removed counts as one of a zombie, until it has been silent.
    until("the worker is no zombie", || (zombies(&farm) == 0).then_some(()));
    assert_eq!(farm.muster("session cancel night").code, 0);
}

fn zombies(farm: &Farm) -> u64 {
    let status = farm.server.admin().get("/api/v1/status").expect(200);
    status["workers"]["zombie"].as_u64().unwrap_or(0)
}
