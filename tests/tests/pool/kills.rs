//! Kill -9 right after a 200, many threads that submit at once, and pool workers that are killed while jobs flow: P6, P7, P8,
//! P16, P17.
//!
//! `MUSTER_KILLS` (20) and `MUSTER_JOBS` (200) say how many, `MUSTER_SEED` which chance.

use crate::{Pool, hand_in, plain, proofs};
use muster_tests::{Answer, Dice, FakePoolWorker, Gateway, PoolWorker, Request, number_from, wait_until};
use serde_json::{Value, json};
use std::{
    fs,
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
    let kills: u64 = number_from("MUSTER_KILLS", 20);
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
    assert_eq!(proofs::verify(&file, &["--key", &worker.public_key()]).code, 0);
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

/// P7, P8: of 64 threads exactly one is answered 200, and what it sent is what is kept. The others are told that one was taken,
/// and where all send the same bytes that theirs are identical.
#[test]
fn one_of_many_submissions_is_taken() {
    let pool = Pool::start();
    for (n, identical) in [(0, Some("true")), (1, None), (2, Some("true")), (3, None)] {
        let id = hand_in(&pool.client, &plain(n));
        let assignment = pool.worker.poll();
        let output = |thread: usize| json!({"thread": if identical.is_some() { 0 } else { thread }});
        let answers = at_once(&pool, |thread| pool.worker.result(&assignment, &output(thread)));
        let taken = one_of(&answers, identical);
        let winner = answers.iter().position(|answer| answer.status == 200).unwrap();
        let job = pool.job(id);
        assert_eq!((&job["status"], &job["finished_at"]), (&json!("completed"), &taken["finished_at"]));
        assert_eq!(job["output"], output(winner));
        assert_eq!(pool.receipt(id)["assignment_id"], assignment["assignment_id"]);
    }
}

/// Says that it runs, and cries out if it does so beside itself; takes a moment; hands back what it was given.
const PROGRAM: &str = r#"
    exec 9> "$1/lock.$MUSTER_ASSIGNMENT_ID"
    flock -n 9 || echo "$MUSTER_ASSIGNMENT_ID" >> "$1/beside-itself"
    echo "$MUSTER_ASSIGNMENT_ID" >> "$1/runs"
    sleep 0.$(($$ % 3))$(($$ % 10))
    printf '{"given": %s, "at": "%s"}' "$(cat)" "$(date +%N)"
"#;

/// P6, P7, P8, P16: workers are killed at random moments while jobs flow, and the server now and then. Each job ends
/// completed, with its own output, by its first assignment: no attempt is lost, and no result is taken twice. Nothing is
/// set aside, and no assignment is ever executed by two at once.
#[test]
fn no_kill_loses_a_job_or_does_it_twice() {
    let jobs: u64 = number_from("MUSTER_JOBS", 200);
    let mut dice = Dice::announced();
    let mut pool = Pool::start();
    let shared = pool.directory.path().to_str().unwrap().to_owned();
    let args = ["--slots", "3", "--heartbeat", "0.5", "--exec", "sh", "-c", PROGRAM, "sh", &shared];
    let mut workers = ["real-a", "real-b"].map(|name| pool.start_worker(name, &args));
    let ids: Vec<u64> = (0..jobs).map(|n| hand_in(&pool.client, &plain(n))).collect();
    let mut harm = 0;
    while ended(&pool) < jobs {
        let before = ended(&pool);
        thread::sleep(dice.millis(20, 400));
        // However slow the machine is, the work gets on between most kills; the others hit while it recovers.
        if dice.percent(70) {
            wait_until("a job ends", || ended(&pool) > before || ended(&pool) == jobs);
        }
        harm += 1;
        match dice.below(8) {
            0 => pool.server.kill9_and_restart(),
            n => workers[usize::try_from(n % 2).unwrap()].kill9_and_restart(),
        }
    }
    for (n, id) in (0..).zip(&ids) {
        let job = pool.job(*id);
        assert_eq!(
            (&job["status"], &job["output"]["given"]),
            (&json!("completed"), &json!({"n": n})),
            "{job}"
        );
        let receipt = pool.receipt(*id);
        assert_eq!(receipt["assignment_id"], json!(id * 64 + 1), "an attempt was lost: {receipt}");
    }
    for worker in &mut workers {
        assert_eq!(worker.terminate().code(), Some(0));
        assert_eq!(worker.aside(), json!([]));
    }
    let read = |name: &str| fs::read_to_string(pool.directory.path().join(name)).unwrap_or_default();
    assert_eq!(read("beside-itself"), "");
    let runs = read("runs").lines().count();
    println!("{jobs} jobs, {runs} executions, {harm} times harmed");
}

fn ended(pool: &Pool) -> u64 {
    pool.server.database().count("SELECT count(*) FROM pool_ends").unsigned_abs()
}

/// P16: a worker behind the gateway loses nothing while the server, the gateway's coordinator, is killed under it.
#[test]
fn a_worker_works_through_the_gateway() {
    let mut pool = Pool::start();
    let gateway = Gateway::before(&pool.server, &[]);
    let args = ["--slots", "4", "--heartbeat", "0.5"];
    let mut worker = PoolWorker::start(&gateway.anonymous().url(), pool.directory.path(), "real-a", &args);
    for round in 0..3 {
        let ids: Vec<u64> = (0..20)
            .map(|n| hand_in(&pool.client, &json!({"payload": {"op": "sum", "values": [round, n]}})))
            .collect();
        wait_until("a job is done", || pool.job(ids[0])["status"] == "completed");
        pool.server.kill9_and_restart();
        for (n, id) in (0..).zip(&ids) {
            wait_until("the job ends", || pool.job(*id)["status"] == "completed");
            assert_eq!(pool.job(*id)["output"], json!({"sum": round + n}));
        }
    }
    assert_eq!(worker.terminate().code(), Some(0));
    assert_eq!(worker.aside(), json!([]));
}

/// P16: the key is for its owner only; it is replaced while results flow, and receipts name the one that signed.
#[test]
fn a_key_is_made_and_replaced() {
    let pool = Pool::start();
    let mut worker = pool.start_worker("real-a", &[]);
    let key_of = |receipt: &Value| receipt["public_key"].as_str().unwrap().to_owned();
    let complete = |payload: &Value| {
        let id = hand_in(&pool.client, &json!({"payload": payload}));
        wait_until("the job ends", || pool.job(id)["status"] == "completed");
        pool.receipt(id)
    };
    let before = key_of(&complete(&json!({"op": "sum", "values": [1, 2]})));
    let first = fs::read(worker.key()).unwrap();
    assert_eq!(worker.terminate().code(), Some(0));
    worker.restart_with(&["--rotate-key"]);
    let after = complete(&json!({"op": "sha256", "text": "x"}));
    assert_ne!(key_of(&after), before);
    assert_ne!(fs::read(worker.key()).unwrap(), first);
    let shown = pool.worker.owner().get("/workers").expect(200);
    let real = shown["workers"].as_array().unwrap().iter().find(|worker| worker["name"] == "real-a").unwrap();
    assert_eq!(real["public_key"], after["public_key"]);
    let file = pool.directory.path().join("receipt.json");
    fs::write(&file, after.to_string()).unwrap();
    assert_eq!(proofs::verify(&file, &["--key", &key_of(&after)]).code, 0);
    assert_eq!(worker.terminate().code(), Some(0));
    fs::write(worker.key(), [1; 32]).unwrap();
    worker.restart_with(&[]);
    assert_eq!(worker.wait().code(), Some(4), "the server knows another key");
    assert!(worker.log().contains("with another key"));
    let exposed = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    fs::set_permissions(worker.key(), exposed).unwrap();
    worker.restart_with(&[]);
    assert_eq!(worker.wait().code(), Some(4));
    assert!(worker.log().contains("chmod 600"));
}
