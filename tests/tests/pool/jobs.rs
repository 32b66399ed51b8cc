//! Jobs as clients hand them in and workers get them: P13, P14.

use crate::{Pool, hand_in, plain, told};
use muster_tests::{Answer, Client, FakePoolWorker, Request, Server};
use serde_json::{Value, json};
use std::thread;

/// P13: a job that failed or was cancelled is handed in once more as a new one, the same in all it asks for; what is not over, or
/// completed, is not. An ADMIN may for its client, and the log tells it (I7).
#[test]
fn a_job_is_tried_again_as_a_new_one() {
    let mut pool = Pool::start();
    let wanted = json!({"payload": {"n": 1.50}, "priority": 7, "region": "eu", "requires": {"gpu": true},
        "max_attempts": 2, "timeout_s": 60});
    let first = hand_in(&pool.client, &wanted);
    let retry = |by: &Client, id: u64| {
        by.send(Request::new("POST", &format!("/jobs/{id}/retry")).header("Idempotency-Key", "again"))
    };
    assert_eq!(told(&retry(&pool.client, first)), (409, "Job did not fail".to_owned()));
    let before = pool.client.send(Request::new("DELETE", &format!("/jobs/{first}"))).expect(200);
    let again = retry(&pool.client, first).expect(201);
    assert_eq!(
        (&again["status"], &again["region"], &again["priority"]),
        (&json!("queued"), &json!("eu"), &json!(7))
    );
    assert_eq!(again["payload"], before["payload"]);
    assert_eq!(retry(&pool.client, first).expect(201), again, "a repeat makes no second one");
    pool.kill9_and_restart();
    assert_eq!(retry(&pool.client, first).expect(201), again, "nor after a restart");
    let same = "SELECT count(*) FROM pool_jobs WHERE requires LIKE '%gpu%' AND max_attempts = 2";
    assert_eq!(pool.server.database().count(same), 2);
    assert_eq!(pool.client.get(&format!("/jobs/{first}")).expect(200), before, "what ended stays ended");
    let by_admin =
        Request::new("POST", &format!("/jobs/{first}/retry")).header("Muster-Reason", "new%20workers");
    let third = pool.server.admin().send(by_admin).expect(201)["id"].as_u64().unwrap();
    assert_eq!(
        pool.client.get(&format!("/jobs/{third}")).expect(200)["status"],
        "queued",
        "it is its client's"
    );
    let log = pool.server.admin().get("/audit?limit=1").expect(200);
    let expected = (&json!("submit_jobs"), &json!(format!("1 jobs: retry of job {first}: new workers")));
    assert_eq!((&log["acts"][0]["action"], &log["acts"][0]["subject"]), expected);
}
