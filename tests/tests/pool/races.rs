//! Many threads hand in at once: P7, P8.

use crate::{Pool, hand_in, plain};
use muster_tests::Answer;
use serde_json::{Value, json};
use std::{sync::Barrier, thread};

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
