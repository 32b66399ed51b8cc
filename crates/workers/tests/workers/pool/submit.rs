//! P7, P8, P16: results on their way, and answers that are lost.

use super::{
    scene::{Cast, Scene},
    server::{Fault, StandIn},
};
use muster_workers::pool::core::{Counts, Over};
use serde_json::json;

/// P3, P6, P7, P9: a job is polled, executed, signed and submitted; the spool is empty then.
#[tokio::test]
async fn a_job_flows() {
    let mut scene = Scene::start(Cast::default()).await;
    scene.server.hand_out(65, json!({"op": "sum", "values": [1, 2, 3]}));
    let result = scene.server.result(65).await;
    assert_eq!((&result["output"], &result["worker_id"]), (&json!({"sum": 6}), &json!(7)));
    assert_eq!(result["output_hash"], muster_proof::sha256_hex(br#"{"sum":6}"#));
    scene.counted(|counts| counts.completed == 1).await;
    assert_eq!(scene.leave().await, Over::Left);
    assert_eq!(scene.spool(), (0, Vec::new()));
    let registered = scene.server.nth("POST workers/register", 0).await.json();
    assert_eq!(registered["name"], "W");
    let poll = scene.server.nth("POST jobs/poll", 0).await.json();
    assert_eq!(poll, json!({"worker_id": 7, "start": true, "wait_ms": 20_000}));
}

/// P8, P16: an answer that is lost makes the very same bytes be submitted again, and the 409 that says so is success.
#[tokio::test]
async fn a_lost_answer_is_no_failure() {
    let mut scene = Scene::start(Cast::default()).await;
    scene.server.fail_once("submit", Fault::Lost);
    scene.server.hand_out(65, json!({"a": 1.5}));
    let first = scene.server.nth("POST jobs/submit", 0).await;
    let second = scene.server.nth("POST jobs/submit", 1).await;
    assert_eq!(first.body, second.body);
    let right = Counts { completed: 1, repeated: 1, ..Counts::default() };
    scene.counted(|counts| counts == right).await;
    scene.leave().await;
    assert_eq!(scene.spool(), (0, Vec::new()));
}

/// P8, P16: the same 409 without the header speaks of another result: this one is set aside, with the reason.
#[tokio::test]
async fn a_result_that_is_not_taken_is_set_aside() {
    for (status, detail) in [
        (409, "Assignment already submitted"),
        (409, "Assignment is not in a submittable state"),
        (404, "Assignment not found"),
        (400, "Invalid nonce"),
    ] {
        let mut scene = Scene::start(Cast::default()).await;
        scene.server.fail_once("submit", Fault::Status(status, detail));
        scene.server.hand_out(65, json!({}));
        scene.counted(|counts| counts.aside == 1).await;
        assert_eq!(scene.leave().await, Over::Left);
        let submitted = scene.server.nth("POST jobs/submit", 0).await;
        let (depth, aside) = scene.spool();
        assert_eq!((depth, aside.len(), scene.server.count("POST jobs/submit")), (0, 1, 1), "{detail}");
        assert_eq!(aside[0].note, format!("{status} {detail}").as_bytes());
        assert_eq!(aside[0].payload, submitted.body);
    }
}

/// I9, P16: overload is waited out, with the same bytes.
#[tokio::test]
async fn overload_is_waited_out() {
    let mut scene = Scene::start(Cast::default()).await;
    for fault in [Fault::Status(503, "busy"), Fault::Status(429, "slow down"), Fault::Status(500, "oh")] {
        scene.server.fail_once("submit", fault);
    }
    scene.server.hand_out(65, json!({}));
    scene.server.result(65).await;
    let first = scene.server.nth("POST jobs/submit", 0).await;
    for n in 1..4 {
        assert_eq!(scene.server.nth("POST jobs/submit", n).await.body, first.body);
    }
    scene.counted(|counts| counts.completed == 1).await;
    assert_eq!(scene.leave().await, Over::Left);
}

/// P6, P16: all that a worker with several slots has started is found again, however long the jobs are.
#[tokio::test]
async fn long_jobs_are_resumed() {
    let server = StandIn::start();
    for id in (1..=6).map(|job| job * 64 + 1) {
        server.desk().started.insert(id, json!({"op": "sha256", "text": "x".repeat(1_000_000)}));
    }
    let scene = Scene::begin(server, tempfile::tempdir().unwrap(), Cast { slots: 6, ..Cast::default() });
    for id in (1..=6).map(|job| job * 64 + 1) {
        scene.server.result(id).await;
    }
}

/// P6, P16: more than all slots could hold is no answer to wait for: the worker is over, and sits on nothing.
#[tokio::test]
async fn what_no_slot_could_hold_ends_the_worker() {
    let server = StandIn::start();
    server.desk().started.insert(65, json!({"text": "x".repeat(5 << 20)}));
    let mut scene = Scene::begin(server, tempfile::tempdir().unwrap(), Cast::default());
    assert_eq!(scene.over().await, Over::TooLong);
}

/// P4: an owner may have very many workers.
#[tokio::test]
async fn a_long_list_of_workers_is_read() {
    let server = StandIn::start();
    let other =
        |n: u64| json!({"id": n, "name": format!("other {n}"), "specs_json": {"x": "x".repeat(10_000)}});
    server.desk().others = (100..700).map(other).collect();
    let scene = Scene::begin(server, tempfile::tempdir().unwrap(), Cast::default());
    scene.server.nth("POST jobs/poll", 0).await;
}

/// P6, P16: an assignment that was started for a poll whose answer is lost is found by asking.
#[tokio::test]
async fn a_lost_poll_loses_nothing() {
    let scene = Scene::start(Cast::default()).await;
    scene.server.nth("POST jobs/poll", 0).await;
    scene.server.fail_once("poll", Fault::Lost);
    scene.server.hand_out(65, json!({}));
    scene.server.result(65).await;
    // The first poll was waiting already, and brought the first; the answer to the second is the one that is lost.
    scene.server.hand_out(129, json!({}));
    scene.server.result(129).await;
    assert_eq!(scene.server.count("POST jobs/resume"), 2);
}
