//! Jobs, batches, votes and leases over kill -9 and restarts, and a client in Python: P1 to P19.

use crate::{Pool, hand_in, plain, told};
use muster_tests::{Client, FakePoolWorker, Request, Server, password_of, venv};
use serde_json::{Value, json};
use std::{path::Path, process::Command};

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

/// P18: a batch is taken whole or not at all, up to a thousand, and recognised by its key over a restart.
#[test]
fn a_batch_is_all_or_none() {
    let mut pool = Pool::start();
    let batch = |count: u64| json!({"jobs": (0..count).map(plain).collect::<Vec<_>>()});
    let send = |pool: &Pool, body: &Value| {
        pool.client.send(Request::new("POST", "/jobs/batch").header("Idempotency-Key", "b").json(body))
    };
    let mut spoilt = batch(5);
    spoilt["jobs"][3]["priority"] = json!(101);
    assert_eq!(pool.client.post("/jobs/batch", &spoilt).status, 422);
    assert_eq!(pool.client.post("/jobs/batch", &batch(1001)).status, 422);
    assert_eq!(pool.client.get("/jobs").expect(200)["jobs"], json!([]), "none of them");
    let first = send(&pool, &batch(1000)).expect(201);
    let jobs = first["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), 1000);
    let ids: Vec<u64> = jobs.iter().map(|job| job["id"].as_u64().unwrap()).collect();
    assert!(ids.is_sorted_by(|one, next| one < next) && jobs.iter().all(|job| job["status"] == "queued"));
    pool.kill9_and_restart();
    assert_eq!(send(&pool, &batch(1000)).expect(201), first);
    assert_eq!(send(&pool, &batch(999)).status, 409);
    assert_eq!(pool.job(ids[999])["payload"], json!({"n": 999}));
    assert_eq!(pool.server.database().count("SELECT count(*) FROM pool_jobs"), 1000);
}

/// P19: what one call acknowledged is there after kill -9: results taken, leases held.
#[test]
fn one_call_is_one_commit() {
    let mut pool = Pool::start();
    let ids = [hand_in(&pool.client, &plain(1)), hand_in(&pool.client, &plain(2))];
    let result = pool.worker.result(&pool.worker.poll(), &json!({"ok": true}));
    let body = json!({"worker_id": pool.worker.id, "submit": [result], "max": 1});
    let answer = pool.worker.owner().post("/jobs/work", &body).expect(200);
    pool.kill9_and_restart();
    assert_eq!(pool.job(ids[0])["status"], "completed");
    assert_eq!(json!([pool.worker.poll()]), answer["assignments"]);
    let again = pool.worker.owner().post(
        "/jobs/work",
        &json!({"worker_id": pool.worker.id, "submit": [result],
        "max": 0}),
    );
    let again = again.expect(200);
    assert_eq!(again["submitted"][0]["error"], "Assignment already submitted");
    assert_eq!(again["submitted"][0]["identical"], true, "{again}");
}

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

fn workers<const N: usize>(server: &Server, names: [&str; N]) -> [FakePoolWorker; N] {
    names.map(|name| FakePoolWorker::registered(&server.user(name, &["WORKER_OWNER"]), &format!("{name}-w")))
}

fn triple(client: &Client) -> u64 {
    hand_in(client, &json!({"payload": {"sum": [1, 2]}, "redundancy": 3, "max_attempts": 5}))
}

/// P15: a worker that lies dissents, falls in reputation and is banned after three times; honest ones are not touched; it
/// stays so over kill -9.
#[test]
fn a_liar_is_banned_after_three_dissents() {
    let mut server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let [ann, bob, liar] = workers(&server, ["ann", "bob", "eve"]);
    for round in 1..=3_u64 {
        let id = triple(&client);
        let leases = [&ann, &bob, &liar].map(FakePoolWorker::poll);
        let ids: Vec<&Value> = leases.iter().map(|lease| &lease["assignment_id"]).collect();
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
        let _ = liar.submit(&liar.result(&leases[2], &json!({"sum": 4}))).expect(200);
        let _ = ann.submit(&ann.result(&leases[0], &json!({"sum": 3}))).expect(200);
        assert_eq!(client.get(&format!("/jobs/{id}")).expect(200)["status"], "running", "one against one");
        let _ = bob.submit(&bob.result(&leases[1], &json!({"sum": 3}))).expect(200);
        let job = client.get(&format!("/jobs/{id}")).expect(200);
        assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})));
        server.kill9();
        server.restart();
        let shown = liar.shown();
        assert_eq!(shown["dissents"], round);
        assert!(shown["reputation"].as_f64().unwrap() < 1.0, "{shown}");
        assert_eq!(shown["status"] == "banned", round == 3, "{shown}");
    }
    for honest in [&ann, &bob] {
        let shown = honest.shown();
        assert_eq!((&shown["dissents"], &shown["reputation"]), (&json!(0), &json!(1.0)), "{shown}");
        assert_ne!(shown["status"], "banned");
    }
    let fourth = triple(&client);
    assert_eq!(told(&liar.try_poll()), (404, "No assignment available".to_owned()));
    let leases = [ann.poll(), bob.poll()];
    let explained = client.get(&format!("/jobs/{fourth}/explain")).expect(200);
    assert_eq!(explained["cause"], "workers_away", "{explained}");
    assert!(explained["explanation"].as_str().unwrap().contains("1 banned"), "{explained}");
    for (worker, lease) in [&ann, &bob].into_iter().zip(&leases) {
        let _ = worker.submit(&worker.result(lease, &json!({"sum": 3}))).expect(200);
    }
    assert_eq!(client.get(&format!("/jobs/{fourth}")).expect(200)["status"], "completed");
}

/// P15: without a majority one more owner's worker is asked; with fewer owners than that it waits, explained, also over
/// a restart.
#[test]
fn no_majority_asks_one_more() {
    let mut server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let [ann, bob] = workers(&server, ["ann", "bob"]);
    let id = triple(&client);
    let leases = [&ann, &bob].map(FakePoolWorker::poll);
    let cause = || client.get(&format!("/jobs/{id}/explain")).expect(200)["cause"].clone();
    assert_eq!(cause(), "too_few_owners", "two of three");
    let [cid] = workers(&server, ["cid"]);
    cid.work_off(&json!({"sum": 5}));
    let _ = ann.submit(&ann.result(&leases[0], &json!({"sum": 3}))).expect(200);
    let _ = bob.submit(&bob.result(&leases[1], &json!({"sum": 4}))).expect(200);
    server.kill9();
    server.restart();
    assert_eq!(cause(), "too_few_owners", "three disagree, and a fourth is needed");
    let [dan] = workers(&server, ["dan"]);
    dan.work_off(&json!({"sum": 3}));
    assert_eq!(
        client.get(&format!("/jobs/{id}")).expect(200)["status"],
        "queued",
        "two of four are not more than half"
    );
    let [eve] = workers(&server, ["eve"]);
    eve.work_off(&json!({"sum": 3}));
    let job = client.get(&format!("/jobs/{id}")).expect(200);
    assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})), "{job}");
    let dissents = [&ann, &bob, &cid, &dan, &eve].map(|worker| worker.shown()["dissents"].clone());
    assert_eq!(dissents, [0, 1, 1, 0, 0]);
}

/// P15: a redundant job of a database that an earlier version wrote goes on; the vote that is there is the declared hash.
#[test]
fn a_vote_of_an_earlier_version_counts() {
    let mut server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let [ann, bob] = workers(&server, ["ann", "bob"]);
    let id = triple(&client);
    let leases = [&ann, &bob].map(FakePoolWorker::poll);
    let _ = ann.submit(&ann.result(&leases[0], &json!({"sum": 3}))).expect(200);
    assert!(server.terminate().success());
    let file = rusqlite::Connection::open(server.data().join("muster.db")).unwrap();
    // As the upgrade from that version leaves it.
    file.execute_batch("UPDATE pool_assignments SET vote = NULL").unwrap();
    drop(file);
    server.restart();
    let _ = bob.submit(&bob.result(&leases[1], &json!({"sum": 3}))).expect(200);
    let job = client.get(&format!("/jobs/{id}")).expect(200);
    assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})), "{job}");
}

/// P1, P3, P4, P5, P6, P7, P8, P9, P13, P15, P17: a plain Python client logs in, registers, polls, signs what `json.dumps`
/// makes, submits and checks the answers, with padding and without; workers of two owners agree on a redundant job.
#[test]
fn a_plain_python_client_takes_part() {
    let server = Server::start();
    server.add_user("carl", &["CLIENT"]);
    server.add_user("olga", &["WORKER_OWNER"]);
    server.add_user("otto", &["WORKER_OWNER"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("python/pool_client.py");
    let output = Command::new(venv().join("bin/python"))
        .arg(script)
        .env("POOL_URL", server.anonymous().url())
        .env("POOL_CLIENT", format!("carl {}", password_of("carl")))
        .env("POOL_OWNER", format!("olga {}", password_of("olga")))
        .env("POOL_SECOND_OWNER", format!("otto {}", password_of("otto")))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{told}");
    assert!(said.trim_end().ends_with("jobs, all as they should be"), "{said}");
    let jobs = server.admin().get("/jobs?status=completed").expect(200);
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 13);
}
