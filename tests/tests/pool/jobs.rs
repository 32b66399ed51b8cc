//! Jobs, batches, votes and leases over kill -9 and restarts, and a client in Python: P1 to P20.

use crate::{Pool, hand_in, plain, proofs, told};
use muster_tests::{Client, FakePoolWorker, Gateway, Request, Server, password_of, venv};
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
    pool.server.kill9_and_restart();
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

/// P18: a batch of a thousand is recognised by its key after kill -9: the same ids, and no job twice.
#[test]
fn a_repeated_batch_gives_the_same_jobs_after_a_kill() {
    let mut pool = Pool::start();
    let batch = json!({"jobs": (0..1000).map(plain).collect::<Vec<_>>()});
    let send = |pool: &Pool| {
        let request = Request::new("POST", "/jobs/batch").header("Idempotency-Key", "b").json(&batch);
        pool.client.send(request).expect(201)
    };
    let first = send(&pool);
    assert_eq!(first["jobs"].as_array().unwrap().len(), 1000);
    pool.server.kill9_and_restart();
    assert_eq!(send(&pool), first);
    let last = first["jobs"][999]["id"].as_u64().unwrap();
    assert_eq!(pool.job(last)["payload"], json!({"n": 999}));
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
    pool.server.kill9_and_restart();
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

/// P17, P20: results that one signature covers are there after kill -9, and their receipts verify offline.
#[test]
fn one_signature_proves_two_results() {
    let mut pool = Pool::start();
    let worker = FakePoolWorker::with(pool.worker.owner(), "worker-b", &json!({"specs_json": {"slots": 2}}));
    let ids = [hand_in(&pool.client, &plain(1)), hand_in(&pool.client, &plain(2))];
    let ask = json!({"worker_id": worker.id, "submit": [], "max": 2});
    let held = worker.owner().post("/jobs/work", &ask).expect(200)["assignments"].clone();
    let results = [0, 1].map(|n| worker.result(&held[n], &json!({"n": n})));
    let call = worker.batch([&results[0], &results[1]]);
    let answer = worker.owner().post("/jobs/work", &call).expect(200);
    assert!(answer["submitted"].as_array().unwrap().iter().all(|item| item["status"] == "completed"));
    pool.server.kill9_and_restart();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("receipt.json");
    for (index, id) in ids.into_iter().enumerate() {
        let mut receipt = pool.receipt(id);
        assert_eq!((&receipt["batch"]["index"], &receipt["batch"]["count"]), (&json!(index), &json!(2)));
        std::fs::write(&file, receipt.to_string()).unwrap();
        assert_eq!(proofs::verify(&file, &["--key", &worker.public_key()]).code, 0);
        receipt["batch"]["index"] = json!(1 - index);
        std::fs::write(&file, receipt.to_string()).unwrap();
        assert_eq!(proofs::verify(&file, &["--key", &worker.public_key()]).code, 1);
    }
    let again = worker.owner().post("/jobs/work", &call).expect(200);
    assert!(again["submitted"].as_array().unwrap().iter().all(|item| item["identical"] == true), "{again}");
}

fn workers<const N: usize>(server: &Server, names: [&str; N]) -> [FakePoolWorker; N] {
    names.map(|name| FakePoolWorker::registered(&server.user(name, &["WORKER_OWNER"]), &format!("{name}-w")))
}

fn triple(client: &Client) -> u64 {
    hand_in(client, &json!({"payload": {"sum": [1, 2]}, "redundancy": 3, "max_attempts": 5}))
}

/// Submits the sum that a worker claims for its assignment.
fn vote(worker: &FakePoolWorker, assignment: &Value, sum: u64) {
    let _ = worker.submit(&worker.result(assignment, &json!({"sum": sum}))).expect(200);
}

/// P15: a worker that lies dissents, loses reputation and is banned after three dissents. Honest workers keep theirs. Votes,
/// dissents and the ban survive kill -9.
#[test]
fn a_liar_is_banned_after_three_dissents_over_kills() {
    let mut pool = Pool::start();
    let [ann, bob, liar] = workers(&pool.server, ["ann", "bob", "eve"]);
    for round in 1..=3_u64 {
        let id = triple(&pool.client);
        let leases = [&ann, &bob, &liar].map(FakePoolWorker::poll);
        vote(&liar, &leases[2], 4);
        vote(&ann, &leases[0], 3);
        pool.server.kill9_and_restart();
        assert_eq!(pool.job(id)["status"], "running", "one against one");
        vote(&bob, &leases[1], 3);
        let job = pool.job(id);
        assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})), "{job}");
        pool.server.kill9_and_restart();
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
    let _ = triple(&pool.client);
    assert_eq!(told(&liar.try_poll()), (404, "No assignment available".to_owned()));
    let _ = ann.poll();
}

/// P15: without a majority the worker of one more owner is asked, also after kill -9. While there are too few owners the job
/// waits and says so.
#[test]
fn no_majority_asks_one_more() {
    let mut pool = Pool::start();
    let [ann, bob, cid] = workers(&pool.server, ["ann", "bob", "cid"]);
    let id = triple(&pool.client);
    for (worker, sum) in [(&ann, 3), (&bob, 4), (&cid, 5)] {
        vote(worker, &worker.poll(), sum);
    }
    // The fourth owner: the pool's own worker.
    vote(&pool.worker, &pool.worker.poll(), 3);
    assert_eq!(pool.job(id)["status"], "queued", "two of four are not more than half");
    pool.server.kill9_and_restart();
    let why = pool.client.get(&format!("/jobs/{id}/explain")).expect(200);
    assert_eq!(why["cause"], "too_few_owners", "{why}");
    let [eve] = workers(&pool.server, ["eve"]);
    vote(&eve, &eve.poll(), 3);
    let job = pool.job(id);
    assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &json!({"sum": 3})), "{job}");
    let dissents = [&ann, &bob, &cid, &pool.worker, &eve].map(|worker| worker.shown()["dissents"].clone());
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

/// P16: contract P works by way of the gateway: logins, work that is waited for, results, receipts, and ids of requests.
#[test]
fn the_pool_works_through_the_gateway() {
    let pool = Pool::start();
    let gateway = Gateway::before(&pool.server, &[]);
    let through = |token: &str| gateway.anonymous().with_token(token);
    let login = json!({"username": "carl", "password": password_of("carl")});
    let token = gateway.anonymous().post("/auth/login", &login).expect(200)["access_token"].clone();
    let client = through(token.as_str().unwrap());
    let worker = pool.worker.by(&through(pool.worker.owner().token().unwrap()));
    let id = hand_in(&client, &plain(1));
    worker.work_off(&json!({"ok": true}));
    assert_eq!(client.get(&format!("/jobs/{id}?wait_ms=30000")).expect(200)["status"], "completed");
    assert_eq!(client.get(&format!("/jobs/{id}/receipt")).expect(200)["worker_id"], worker.id);
    let same = Request::new("GET", "/jobs").header("x-request-id", "of-the-caller");
    assert_eq!(client.send(same).header("x-request-id"), Some("of-the-caller"));
    for log in [pool.server.log(), gateway.log()] {
        assert!(log.contains("of-the-caller"), "{log}");
    }
    let _ = pool.server.admin().patch("/users/carl", &json!({"active": false})).expect(200);
    for stranger in [client, gateway.anonymous(), through("wrong-wrong-wrong")] {
        assert_eq!(told(&stranger.get("/jobs")), (401, "Invalid token".to_owned()), "at once, here too");
    }
}
