//! Kill -9 right after a 200, and many threads that submit at once: P7, P8, P17.
//!
//! `MUSTER_KILLS` says how many times (20), `MUSTER_SEED` which chance.

use crate::{Pool, hand_in, plain, proofs};
use muster_tests::{Answer, Dice, FakePoolWorker, Request};
use serde_json::{Value, json};
use std::{
    sync::{
        Barrier, Mutex,
        atomic::{AtomicBool, Ordering},
        mpsc,
    },
    thread,
};

/// A result that was on its way when the server was killed, and whether it had been acknowledged.
struct Sent {
    job: u64,
    result: Value,
    finished_at: Option<Value>,
}

/// P7, P8, P17, I1: after kill -9 right after a 200 the result and its receipt are there, and the same bytes once more are
/// told as identical; what was not acknowledged is taken now or was taken then, never lost and never doubled.
#[test]
fn what_was_acknowledged_is_there() {
    let kills: u64 = std::env::var("MUSTER_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(20);
    let mut dice = Dice::announced();
    let mut pool = Pool::with(&[("MUSTER_POOL__TOKEN_TTL_S", "86400"), ("MUSTER_LOG", "warn")]);
    let workers: Vec<_> =
        (0..4).map(|n| FakePoolWorker::registered(pool.worker.owner(), &format!("killed-{n}"))).collect();
    let (mut acknowledged, mut lost) = (0, 0);
    for round in 0..kills {
        let batch = json!({"jobs": (0..40).map(|n| plain(round * 100 + n)).collect::<Vec<_>>()});
        let _ = pool.client.post("/jobs/batch", &batch).expect(201);
        let sent = submit_until_killed(&mut pool, &workers, dice.below(20));
        pool.server.restart();
        for sent in &sent {
            let worker = workers.iter().find(|worker| sent.result["worker_id"] == worker.id).unwrap();
            match check(&pool, worker, sent) {
                true => acknowledged += 1,
                false => lost += 1,
            }
        }
        finish(&pool, &workers);
    }
    for status in ["queued", "running", "failed", "cancelled"] {
        assert_eq!(pool.client.get(&format!("/jobs?status={status}")).expect(200)["jobs"], json!([]));
    }
    println!("{kills} kills: {acknowledged} acknowledged, {lost} answers lost");
    assert!(acknowledged >= kills);
}

/// All workers work, each for itself, until the server is killed, at once after so many acknowledgements and one more.
fn submit_until_killed(pool: &mut Pool, workers: &[FakePoolWorker], after: u64) -> Vec<Sent> {
    let (told, heard) = mpsc::channel();
    let (all, over) = (Mutex::new(Vec::new()), AtomicBool::new(false));
    thread::scope(|scope| {
        for worker in workers {
            let (told, all, over) = (told.clone(), &all, &over);
            scope.spawn(
                move || {
                    while !over.load(Ordering::SeqCst) && work_once(worker, all, &told).is_some() {}
                },
            );
        }
        // So that a worker that fails is seen, and not waited for.
        drop(told);
        for _ in 0..=after {
            heard.recv().unwrap();
        }
        pool.server.kill9();
        over.store(true, Ordering::SeqCst);
    });
    all.into_inner().unwrap()
}

/// Polls and submits; `None` once nobody answers.
fn work_once(worker: &FakePoolWorker, all: &Mutex<Vec<Sent>>, told: &mpsc::Sender<()>) -> Option<()> {
    let poll = Request::new("POST", "/jobs/poll").json(&json!({"worker_id": worker.id}));
    let answer = worker.owner().try_send(poll).ok()?;
    let assignment = (answer.status == 200).then(|| answer.json())?;
    let result = worker.result(&assignment, &json!({"of": assignment["job"]}));
    let job = assignment["assignment_id"].as_u64().unwrap() / 64;
    let submit = Request::new("POST", "/jobs/submit").json(&result);
    let answer = worker.owner().try_send(submit).ok().map(|answer| answer.expect(200));
    let finished_at = answer.map(|answer| answer["finished_at"].clone());
    let is_acknowledged = finished_at.is_some();
    all.lock().unwrap().push(Sent { job, result, finished_at });
    is_acknowledged.then(|| told.send(()).unwrap_or_default())
}

/// Holds what was sent against what is there; says whether it had been acknowledged.
fn check(pool: &Pool, worker: &FakePoolWorker, sent: &Sent) -> bool {
    let again = worker.submit(&sent.result);
    if again.status != 200 {
        assert_eq!(again.problem(409)["detail"], "Assignment already submitted");
        assert_eq!(again.header("muster-identical"), Some("true"));
    }
    let job = pool.job(sent.job);
    assert_eq!((&job["status"], &job["output"]), (&json!("completed"), &sent.result["output"]));
    let receipt = pool.receipt(sent.job);
    assert_eq!(
        (&receipt["signature"], &receipt["assignment_id"]),
        (&sent.result["signature"], &sent.result["assignment_id"])
    );
    let Some(finished_at) = &sent.finished_at else { return false };
    assert_eq!(again.status, 409, "it was acknowledged, and taken again");
    assert_eq!((&job["finished_at"], &receipt["finished_at"]), (finished_at, finished_at));
    let file = pool.server.data().join("receipt.json");
    std::fs::write(&file, receipt.to_string()).unwrap();
    assert_eq!(proofs::verify(&file, &["--key", &worker.public_key()]).status.code(), Some(0));
    true
}

/// Does what is left.
fn finish(pool: &Pool, workers: &[FakePoolWorker]) {
    for worker in workers {
        loop {
            let answer = worker.try_poll();
            if answer.status == 404 {
                break;
            }
            let assignment = answer.expect(200);
            let _ = worker.submit(&worker.result(&assignment, &json!({"of": assignment["job"]}))).expect(200);
        }
    }
    assert_eq!(pool.client.get("/jobs?status=queued").expect(200)["jobs"], json!([]));
}

const THREADS: usize = 64;

/// Hands in one body per thread, all at the same moment.
fn at_once(pool: &Pool, body: impl Fn(usize) -> Value + Sync) -> Vec<Answer> {
    let barrier = Barrier::new(THREADS);
    let submit = &|n: usize| {
        let body = body(n);
        barrier.wait();
        pool.worker.submit(&body)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS).map(|n| scope.spawn(move || submit(n))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Exactly one was taken; all others were told that one was, as identical or not.
fn one_of(answers: &[Answer], identical: Option<&str>) -> Value {
    let (taken, refused): (Vec<_>, Vec<_>) = answers.iter().partition(|answer| answer.status == 200);
    assert_eq!((taken.len(), refused.len()), (1, THREADS - 1));
    for answer in refused {
        assert_eq!(answer.problem(409)["detail"], "Assignment already submitted");
        assert_eq!(answer.header("muster-identical"), identical);
    }
    taken[0].json()
}

/// P7, P8: 64 threads with the same bytes: exactly one 200, the rest 409 with `Muster-Identical: true`.
#[test]
fn the_same_bytes_are_taken_once() {
    let pool = Pool::start();
    for n in 0..5 {
        let id = hand_in(&pool.client, &plain(n));
        let result = pool.worker.result(&pool.worker.poll(), &json!({"n": n}));
        let taken = one_of(&at_once(&pool, |_| result.clone()), Some("true"));
        let job = pool.job(id);
        assert_eq!((&job["status"], &job["finished_at"]), (&json!("completed"), &taken["finished_at"]));
    }
}

/// P7, P8: 64 threads with differing bodies: exactly one 200, the rest 409 without the header; the one is what is kept.
#[test]
fn one_of_many_bodies_is_taken() {
    let pool = Pool::start();
    for n in 0..5 {
        let id = hand_in(&pool.client, &plain(n));
        let assignment = pool.worker.poll();
        let answers = at_once(&pool, |thread| pool.worker.result(&assignment, &json!({"thread": thread})));
        one_of(&answers, None);
        let winner = answers.iter().position(|answer| answer.status == 200).unwrap();
        assert_eq!(pool.job(id)["output"], json!({"thread": winner}));
        assert_eq!(pool.receipt(id)["assignment_id"], assignment["assignment_id"]);
    }
}
