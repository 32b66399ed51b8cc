//! One job from its client to its worker and back: P1 to P9, P13.

use crate::{Pool, hand_in, told};
use muster_tests::{FakePoolWorker, Request, Server, password_of};
use serde_json::{Value, json};

/// P6: what was started is not handed out again, and is told to whoever resumes after a crash, of the server too.
#[test]
fn what_was_started_is_resumed() {
    let mut pool = Pool::start();
    let id = hand_in(&pool.client, &json!({"payload": {"n": 1}}));
    let ask = |pool: &Pool, more: Value| {
        let mut body = json!({"worker_id": pool.worker.id});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        pool.worker.owner().post("/jobs/poll", &body)
    };
    assert_eq!(ask(&pool, json!({"resume": true})).expect(200), json!({"assignments": []}));
    let assignment = ask(&pool, json!({"start": true})).expect(200);
    assert_eq!(ask(&pool, json!({})).status, 404);
    pool.kill9_and_restart();
    assert_eq!(ask(&pool, json!({"resume": true})).expect(200), json!({"assignments": [assignment]}));
    let _ = pool.worker.submit(&pool.worker.result(&assignment, &json!({"n": 1}))).expect(200);
    assert_eq!(pool.job(id)["status"], "completed");
    assert_eq!(ask(&pool, json!({"wait_ms": 30_001})).status, 422);
}

/// P5, P8: a lease that ran out is given anew, to whoever asks, under another id; the late result is not taken.
#[test]
fn a_late_result_is_not_taken() {
    let pool = Pool::with(&[("MUSTER_POOL__LEASE_S", "0.3"), ("MUSTER_POOL__OFFLINE_AFTER_S", "0.3")]);
    let id = hand_in(&pool.client, &json!({"payload": {"n": 1}, "max_attempts": 60}));
    let late = pool.worker.poll();
    let other = FakePoolWorker::registered(pool.worker.owner(), "worker-b");
    let next = muster_tests::until("the lease runs out", || {
        let answer = other.try_poll();
        (answer.status == 200).then(|| answer.json())
    });
    assert_eq!(next["job"], late["job"]);
    assert!(next["assignment_id"] != late["assignment_id"] && next["nonce"] != late["nonce"]);
    let refused = pool.worker.submit(&pool.worker.result(&late, &json!({"by": "the late"})));
    assert_eq!(told(&refused), (409, "Assignment is not in a submittable state".to_owned()));
    // Its own lease is as short; whichever attempt is in time counts.
    muster_tests::until("a result in time", || {
        let answer = other.try_poll();
        let assignment = (answer.status == 200).then(|| answer.json())?;
        let taken = other.submit(&other.result(&assignment, &json!({"by": "the next"})));
        (taken.status == 200).then_some(())
    });
    assert_eq!(pool.job(id)["output"], json!({"by": "the next"}));
}
