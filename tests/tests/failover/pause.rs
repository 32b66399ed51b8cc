//! A leader that stands still, and goes on when another one leads.

use crate::fence::Fence;
use muster_pg_harness::Cluster as Database;
use muster_tests::{Answer, Client, Cluster, ClusterSetup, Request, Standing, until};
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
};

/// What callers were answered, with the keys they had used.
#[derive(Default)]
struct Answers {
    next: AtomicU64,
    is_over: AtomicBool,
    taken: Mutex<Vec<(String, Answer)>>,
}

/// S18: a leader that stood still for longer than its lease gets nothing in any more: what it had been asked for is
/// refused, or is done by the one that leads now, and nobody is told how things stood before it slept. The database
/// refuses what it tries, and everything that was acknowledged is there once.
#[test]
fn a_leader_that_slept_writes_nothing() {
    let database = Database::start();
    let url = database.fresh_database();
    let cluster = ClusterSetup::new(&url, 2).with(&SETTINGS).start();
    let (fence, answers) = (Fence::watch(&database, &url), Answers::default());
    let refused = || database.log().matches("fence_held").count();
    for round in 0.. {
        sleep_through_a_takeover(&cluster, &fence, &answers);
        fence.check();
        // Which of its threads wakes first is chance: not always is something tried before it knows.
        if refused() > 0 {
            break;
        }
        assert!(round < ROUNDS_MAX, "in {ROUNDS_MAX} rounds nothing was tried");
    }
    println!("{} writes of an older epoch refused", refused());
    let epoch = fence.epoch();
    assert!(fence.commit_as(epoch - 1).unwrap_err().contains("fence_held"));
    every_answer_is_true(&cluster, &answers);
}

fn sleep_through_a_takeover(cluster: &Cluster, fence: &Fence, answers: &Answers) {
    let asleep = cluster.settle();
    let admin = cluster.only(asleep.index).with_token(&cluster.servers[0].admin_token());
    let others = cluster.without(asleep.index).with_token(&cluster.servers[0].admin_token());
    answers.is_over.store(false, Ordering::SeqCst);
    let awake = thread::scope(|scope| {
        // All of them have something on its way to the one that falls asleep.
        for _ in 0..CALLERS {
            scope.spawn(|| answers.submit_until_over(&admin));
        }
        let before = answers.count();
        until("some are answered", || (answers.count() > before + 2 * CALLERS).then_some(()));
        cluster.servers[asleep.index].signal("STOP");
        answers.is_over.store(true, Ordering::SeqCst);
        let awake = cluster.leader_after(asleep.epoch);
        let run = until("the other one takes something", || answers.submit(&others));
        cluster.servers[asleep.index].signal("CONT");
        let seen = admin.get(&format!("/api/runs/{run}")).status;
        assert!(matches!(seen, 200 | 503), "{seen}: it answers from before it fell asleep");
        awake
    });
    assert_eq!(fence.epoch(), awake.epoch);
    let url = cluster.servers[awake.index].anonymous().url();
    until("the one that slept follows", || {
        (cluster.standing(asleep.index) == Standing::Following(url.clone(), awake.epoch)).then_some(())
    });
}

impl Answers {
    fn submit_until_over(&self, admin: &Client) {
        while !self.is_over.load(Ordering::SeqCst) {
            let _ = self.submit(admin);
        }
    }

    /// Submits one run; whoever refuses it must say so. Answers its id if it was taken.
    fn submit(&self, admin: &Client) -> Option<String> {
        let key = format!("key-{}", self.next.fetch_add(1, Ordering::SeqCst));
        let body = json!({"workflow_id": "w", "params": {}, "title": key});
        let request = Request::new("POST", "/api/runs").header("Idempotency-Key", &key).json(&body);
        let answer = admin.send(request);
        assert!(matches!(answer.status, 201 | 503), "{answer:?}");
        let run = answer.json()["run_id"].as_str().map(str::to_owned);
        self.taken.lock().unwrap().push((key, answer));
        run
    }

    fn count(&self) -> usize {
        self.taken.lock().unwrap().len()
    }
}

/// What was taken is there once, under its id; what was refused may be there, but once as well.
fn every_answer_is_true(cluster: &Cluster, answers: &Answers) {
    let rows = cluster.database().rows("SELECT id, title FROM tasks");
    let titles: BTreeSet<&String> = rows.iter().map(|row| &row[1]).collect();
    assert_eq!(titles.len(), rows.len(), "a key has two runs");
    for (key, answer) in &*answers.taken.lock().unwrap() {
        if answer.status == 201 {
            let expected = [answer.json()["run_id"].as_str().unwrap().to_owned(), key.clone()];
            assert!(rows.iter().any(|row| row[..] == expected), "{key} was acknowledged and is lost");
        }
    }
}

const CALLERS: usize = 24;
const ROUNDS_MAX: u32 = 20;

/// Short, so that it falls asleep for longer soon.
const SETTINGS: [(&str, &str); 1] = [("MUSTER_LEADERSHIP__LEASE_MS", "1000")];
