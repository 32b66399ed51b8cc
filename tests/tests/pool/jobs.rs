//! Jobs as clients hand them in and workers get them: P13, P14.

use crate::{Pool, hand_in, plain, told};
use muster_tests::{Answer, Client, FakePoolWorker, Request, Server};
use serde_json::{Value, json};
use std::thread;

fn with_key(client: &Client, key: &str, job: &Value) -> Answer {
    client.send(Request::new("POST", "/jobs").header("Idempotency-Key", key).json(job))
}

/// P13: a repeat under the same key is the first answer again, over a restart and after the job's end; another body is refused; a key is its user's own.
#[test]
fn a_key_recognises_a_repeat() {
    let mut pool = Pool::start();
    let first = with_key(&pool.client, "k-1", &plain(1)).expect(201);
    assert_eq!(with_key(&pool.client, "k-1", &plain(1)).expect(201), first);
    pool.kill9_and_restart();
    assert_eq!(with_key(&pool.client, "k-1", &plain(1)).expect(201), first);
    assert_eq!(with_key(&pool.client, "k-1", &plain(2)).status, 409);
    pool.worker.work_off(&json!({"ok": true}));
    pool.kill9_and_restart();
    assert_eq!(with_key(&pool.client, "k-1", &plain(1)).expect(201), first);
    let dora = pool.server.user("dora", &["CLIENT"]);
    let hers = with_key(&dora, "k-1", &plain(2)).expect(201);
    assert_ne!(hers["id"], first["id"]);
    assert_eq!(pool.client.get("/jobs").expect(200)["jobs"].as_array().unwrap().len(), 1);
}

/// P13: a job that waits or runs is cancelled, one that ended is not; what its worker hands in then is refused.
#[test]
fn a_job_is_cancelled_once() {
    let mut pool = Pool::start();
    let waiting = hand_in(&pool.client, &plain(1));
    let cancel = |pool: &Pool, id: u64| pool.client.send(Request::new("DELETE", &format!("/jobs/{id}")));
    assert_eq!(cancel(&pool, waiting).expect(200)["status"], "cancelled");
    let running = hand_in(&pool.client, &plain(2));
    let assignment = pool.worker.poll();
    assert_eq!(cancel(&pool, running).expect(200)["status"], "cancelled");
    let late = pool.worker.submit(&pool.worker.result(&assignment, &json!({})));
    assert_eq!(told(&late), (409, "Assignment is not in a submittable state".to_owned()));
    let completed = hand_in(&pool.client, &plain(3));
    pool.worker.work_off(&json!({"ok": true}));
    pool.kill9_and_restart();
    for id in [waiting, running, completed] {
        assert_eq!(told(&cancel(&pool, id)), (409, "Job already finished".to_owned()));
    }
    assert_eq!(pool.job(running)["status"], "cancelled");
    assert_eq!(pool.job(completed)["status"], "completed");
}

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

/// P13: a foreign client's job is not found, by any verb; an ADMIN sees all; lists go page by page.
#[test]
fn jobs_are_their_clients_own() {
    let pool = Pool::start();
    let ids: Vec<u64> = (0..5).map(|n| hand_in(&pool.client, &plain(n))).collect();
    let dora = pool.server.user("dora", &["CLIENT"]);
    for id in [ids[0], 999] {
        for (method, path) in
            [("GET", ""), ("DELETE", ""), ("GET", "/receipt"), ("GET", "/explain"), ("POST", "/retry")]
        {
            let answer = dora.send(Request::new(method, &format!("/jobs/{id}{path}")));
            assert_eq!(told(&answer), (404, "Job not found".to_owned()), "{method} {id}{path}");
        }
    }
    assert_eq!(dora.get("/jobs").expect(200)["jobs"], json!([]));
    assert_eq!(pool.server.admin().get(&format!("/jobs/{}", ids[0])).expect(200)["status"], "queued");
    let (mut seen, mut after) = (Vec::new(), String::new());
    loop {
        let page = pool.client.get(&format!("/jobs?limit=2{after}")).expect(200);
        seen.extend(page["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_u64().unwrap()));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(seen, ids.into_iter().rev().collect::<Vec<_>>());
}

/// P13, P14: a job lands on a waiting poll, and its end on a waiting client.
#[test]
fn nobody_who_waits_has_to_ask_again() {
    let pool = &Pool::start();
    thread::scope(|scope| {
        let body = json!({"worker_id": pool.worker.id, "wait_ms": 30_000});
        let polling = scope.spawn(move || pool.worker.owner().post("/jobs/poll", &body).expect(200));
        let id = hand_in(&pool.client, &plain(1));
        let watched = format!("/jobs/{id}?wait_ms=30000");
        let watching = scope.spawn(move || pool.client.get(&watched).expect(200));
        let assignment = polling.join().unwrap();
        let _ = pool.worker.submit(&pool.worker.result(&assignment, &json!({"n": 1}))).expect(200);
        assert_eq!(watching.join().unwrap()["status"], "completed");
    });
}

/// P14: the highest priority first; within it clients take turns; within a client the oldest.
#[test]
fn work_is_handed_out_in_order() {
    let server = Server::start();
    let (ann, bob) = (server.user("ann", &["CLIENT"]), server.user("bob", &["CLIENT"]));
    let job =
        |who: &str, n: u64, priority: u64| json!({"payload": format!("{who}{n}"), "priority": priority});
    for n in 1..=3 {
        hand_in(&ann, &job("ann", n, 5));
    }
    for n in 1..=2 {
        hand_in(&bob, &job("bob", n, 5));
    }
    hand_in(&ann, &job("ann", 9, 0));
    hand_in(&bob, &job("bob", 9, 100));
    let worker = FakePoolWorker::registered(&server.user("olga", &["WORKER_OWNER"]), "worker-a");
    let order: Vec<String> = (0..7)
        .map(|_| {
            let assignment = worker.poll();
            let _ = worker.submit(&worker.result(&assignment, &json!({}))).expect(200);
            assignment["job"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!((order[0].as_str(), order[6].as_str()), ("bob9", "ann9"), "{order:?}");
    let turns = &order[1..6];
    for who in ["ann", "bob"] {
        let own: Vec<&String> = turns.iter().filter(|name| name.starts_with(who)).collect();
        assert!(own.is_sorted(), "{order:?}");
    }
    assert!(turns[..4].windows(2).all(|pair| pair[0][..3] != pair[1][..3]), "{order:?}");
}

/// P14: region and requirements are met, slots are not exceeded, and a worker that drains gets nothing new.
#[test]
fn only_eligible_workers_get_work() {
    let server = Server::start();
    let (client, olga) = (server.user("carl", &["CLIENT"]), server.user("olga", &["WORKER_OWNER"]));
    let small = FakePoolWorker::with(&olga, "small", &json!({"region": "eu", "specs_json": {"ram_gb": 8}}));
    let large = FakePoolWorker::with(
        &olga,
        "large",
        &json!({"region": "us", "specs_json": {"ram_gb": 64, "slots": 2}}),
    );
    let nothing = (404, "No assignment available".to_owned());
    hand_in(&client, &json!({"payload": "a", "region": "eu", "requires": {"ram_gb": 4}}));
    assert_eq!(told(&large.try_poll()), nothing, "another region");
    assert_eq!(small.poll()["job"], "a");
    hand_in(&client, &json!({"payload": "b", "requires": {"ram_gb": 32}}));
    assert_eq!(small.poll()["job"], "a", "its one slot is taken");
    let start =
        |worker: &FakePoolWorker| olga.post("/jobs/poll", &json!({"worker_id": worker.id, "start": true}));
    assert_eq!(start(&large).expect(200)["job"], "b");
    for payload in ["c", "d", "e"] {
        hand_in(&client, &json!({"payload": payload, "region": "us"}));
    }
    assert_eq!(start(&large).expect(200)["job"], "c");
    assert_eq!(told(&start(&large)), nothing, "both slots are taken");
    let third = FakePoolWorker::with(&olga, "third", &json!({"region": "us"}));
    assert_eq!(olga.post(&format!("/workers/{}/drain", third.id), &json!({})).expect(200)["draining"], true);
    assert_eq!(told(&third.try_poll()), nothing, "it drains");
    assert_eq!(
        olga.post(&format!("/workers/{}/resume", third.id), &json!({})).expect(200)["draining"],
        false
    );
    assert_eq!(third.poll()["job"], "d");
}

/// P14: a banned worker gets nothing, and what it had goes to others; until it is let in again, over a restart.
#[test]
fn a_banned_worker_gets_nothing() {
    let mut pool = Pool::start();
    let id = hand_in(&pool.client, &plain(1));
    let assignment = pool.worker.poll();
    let path = |verb: &str| format!("/workers/{}/{verb}", pool.worker.id);
    let banned = pool.server.admin().post(&path("ban"), &json!({"reason": "spam"})).expect(200);
    assert_eq!((&banned["status"], &banned["ban_reason"]), (&json!("banned"), &json!("spam")));
    let late = pool.worker.submit(&pool.worker.result(&assignment, &json!({})));
    assert_eq!(told(&late).0, 409);
    let unban = path("unban");
    pool.kill9_and_restart();
    pool.worker.beat();
    assert_eq!(pool.worker.shown()["status"], "banned", "a sign of life does not change it");
    assert_eq!(told(&pool.worker.try_poll()), (404, "No assignment available".to_owned()));
    let other = FakePoolWorker::registered(pool.worker.owner(), "worker-b");
    assert_ne!(other.poll()["assignment_id"], assignment["assignment_id"]);
    let _ = pool.server.admin().post(&unban, &json!({"reason": "forgiven"})).expect(200);
    let next = hand_in(&pool.client, &plain(2));
    pool.worker.work_off(&json!({"ok": true}));
    assert_eq!(pool.job(next)["status"], "completed");
    assert_eq!(pool.job(id)["status"], "running");
}

/// P14: why a job waits is told in a word, to its client and beside the job.
#[test]
fn why_a_job_waits_is_told() {
    let server = Server::start();
    let client = server.user("carl", &["CLIENT"]);
    let id = hand_in(&client, &json!({"payload": {}, "region": "eu", "requires": {"gpu": true}}));
    let cause = || client.get(&format!("/jobs/{id}/explain")).expect(200)["cause"].clone();
    assert_eq!(cause(), "no_workers");
    let olga = server.user("olga", &["WORKER_OWNER"]);
    let _us = FakePoolWorker::with(&olga, "us", &json!({"region": "us"}));
    assert_eq!(cause(), "no_worker_in_region");
    let _bare = FakePoolWorker::with(&olga, "bare", &json!({"region": "eu"}));
    assert_eq!(cause(), "requirements_unmet");
    let fit = FakePoolWorker::with(&olga, "fit", &json!({"region": "eu", "specs_json": {"gpu": true}}));
    assert_eq!(cause(), "workers_away");
    fit.beat();
    assert_eq!(cause(), "waiting_for_poll");
    let shown = client.get(&format!("/jobs/{id}")).expect(200);
    assert!(shown["explanation"].as_str().unwrap().contains("not asked since"), "{shown}");
    let assignment = fit.poll();
    assert_eq!(cause(), "running");
    let next = hand_in(&client, &json!({"payload": {}, "region": "eu", "requires": {"gpu": true}}));
    let explained = client.get(&format!("/jobs/{next}/explain")).expect(200);
    assert_eq!(explained["cause"], "workers_busy");
    let _ = fit.submit(&fit.result(&assignment, &json!({}))).expect(200);
    assert_eq!(cause(), "ended");
}
