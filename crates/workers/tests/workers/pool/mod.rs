//! The pool worker as it runs, against a stand-in of the server.

mod exec;
mod scene;

use crate::worker_binary;
use muster_model::Millis;
use muster_proof::KeyPair;
use muster_workers::pool::{
    core::{Counts, Over},
    runtime::PoolWorkerError,
};
use scene::{Cast, Fault, Scene, StandIn};
use serde_json::json;
use std::{fs, path::Path, process::Stdio};
use tokio::process::{Child, Command};

// P1, P2: how the worker as it runs gets in.

/// P1, P2: a token that is over is renewed, and where that fails a new one got; nothing is lost meanwhile.
#[tokio::test]
async fn a_token_that_is_over_is_replaced() {
    let scene = Scene::start(Cast::default()).await;
    scene.server.nth("POST jobs/poll", 0).await;
    scene.server.end_token();
    scene.server.hand_out(65, json!({}));
    scene.server.result(65).await;
    assert_eq!(scene.server.count("POST auth/refresh"), 1, "it was tried");
    assert_eq!(scene.server.count("POST auth/login"), 2);
    let tokens: Vec<String> = scene.server.desk().calls.iter().map(|call| call.credential.clone()).collect();
    assert_eq!((tokens.first().unwrap().as_str(), tokens.last().unwrap().as_str()), ("", "Bearer token-2"));
}

/// P1: a wrong password ends it, after one try.
#[tokio::test]
async fn a_wrong_password_ends_it() {
    let mut scene = Scene::start(Cast { password: "wrong", ..Cast::default() }).await;
    assert!(matches!(scene.over().await, Over::NotAdmitted(refusal) if refusal.status == 401));
    assert_eq!(scene.server.calls(), ["POST auth/login"]);
}

/// P2, P5: whoever may not, or is not known, stops.
#[tokio::test]
async fn a_refused_worker_stops() {
    for (end, status, detail) in [
        ("poll", 403, "Insufficient role"),
        ("heartbeat", 404, "Worker not found"),
        ("workers", 403, "Insufficient role"),
    ] {
        let mut scene = Scene::start(Cast::default()).await;
        scene.server.fail_always(end, Some(Fault::Status(status, detail)));
        let Over::Refused(refusal) = scene.over().await else { panic!("it is refused") };
        assert_eq!((refusal.status, &*refusal.detail), (status, detail));
    }
}

// P7, P8, P16: results on their way, and answers that are lost.

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

/// P8, P16, P20: results that an earlier life left leave under one signature; an answer that is lost makes them leave again, and
/// each is recognised by its bytes. A server without batches gets them one by one.
#[tokio::test]
async fn results_leave_together_where_the_server_takes_them() {
    for is_old in [false, true] {
        let mut scene = Scene::start(Cast { slots: 3, grace: Millis(50), ..Cast::default() }).await;
        for end in ["submit", "work"] {
            scene.server.fail_always(end, Some(Fault::Status(503, "busy")));
        }
        let ids = [65, 129, 193];
        ids.into_iter().for_each(|id| scene.server.hand_out(id, json!({"op": "echo", "value": id})));
        scene.report.wait_for(|report| report.spooled == 3).await.unwrap();
        scene.leave().await;
        let (server, directory) = scene.part();
        server.fail_always("submit", None);
        server.fail_always("work", None);
        server.fail_once("work", Fault::Lost);
        server.desk().is_old = is_old;
        let first = server.calls().len();
        let mut scene = Scene::begin(server, directory, Cast { slots: 3, ..Cast::default() });
        scene.counted(|counts| counts.completed == 3).await;
        assert_eq!(scene.leave().await, Over::Left);
        let calls = scene.server.calls()[first..].to_vec();
        let count = |what: &str| calls.iter().filter(|call| *call == what).count();
        assert_eq!(
            (count("POST jobs/work"), count(SUBMIT)),
            if is_old { (2, 3) } else { (2, 0) },
            "{calls:?}"
        );
        let repeated = if is_old { 0 } else { 3 };
        assert_eq!((scene.report.borrow().counts.repeated, scene.spool().0), (repeated, 0));
        for id in ids {
            let result = scene.server.result(id).await;
            assert_eq!((&result["output"]["value"], result["signature"].is_string()), (&json!(id), is_old));
        }
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

// P16: keys, as the server knows them.

fn public(seed: u8) -> String {
    KeyPair::from_seed(&[seed; 32]).public_text()
}

/// P16: no key is made where another worker has the spool.
#[tokio::test]
async fn a_spool_in_use_makes_no_key() {
    let mut scene = Scene::start(Cast::default()).await;
    let error = scene.second().unwrap_err();
    assert!(matches!(error, PoolWorkerError::InUse(_)));
    let error = error.to_string();
    assert!(error.contains("another worker") && error.contains("--spool"), "{error}");
    assert!(!scene.directory.path().join("second-key").exists());
    scene.leave().await;
}

/// P16: a server that knows another key is not argued with.
#[tokio::test]
async fn another_key_ends_it() {
    let server = StandIn::start();
    server.desk().key = Some(public(1));
    let mut scene = Scene::begin(server, tempfile::tempdir().unwrap(), Cast::default());
    assert_eq!(scene.over().await, Over::OtherKey { key: public(1).into() });
    assert_eq!(scene.server.desk().key, Some(public(1)));
}

/// P16: a key is replaced: what the old one signed is submitted first, then the server gets the new one, then the file;
/// an answer that is lost on the way changes nothing.
#[tokio::test]
async fn a_key_is_replaced() {
    let mut scene = Scene::start(Cast { grace: Millis(50), ..Cast::default() }).await;
    scene.server.fail_always("submit", Some(Fault::Status(503, "busy")));
    scene.server.hand_out(65, json!({}));
    scene.server.nth("POST jobs/submit", 0).await;
    scene.leave().await;
    assert_eq!(scene.spool().0, 1);
    let (server, directory) = scene.part();
    server.fail_always("submit", None);
    server.fail_once("key", Fault::Lost);
    let (first, polls) = (server.calls().len(), server.count("POST jobs/poll"));
    let scene = Scene::begin(server, directory, Cast { rotate: true, ..Cast::default() });
    scene.server.result(65).await;
    scene.server.nth("POST jobs/poll", polls).await;
    let calls = scene.server.calls()[first..].to_vec();
    let expected = [
        "POST auth/login",
        "GET workers",
        "POST jobs/submit",
        "PUT workers/7/key",
        "GET workers",
        "POST jobs/resume",
        "POST jobs/poll",
    ];
    assert_eq!(calls, expected);
    assert_eq!(scene.server.desk().key, Some(public(8)));
    assert_eq!(fs::read(scene.directory.path().join("key")).unwrap(), [8; 32]);
    assert!(!scene.directory.path().join("key.next").exists());
    scene.server.hand_out(129, json!({}));
    scene.server.result(129).await;
}

/// P16: a crash between the server's new key and the file's leaves a pair that is valid: the next start sees which.
#[tokio::test]
async fn a_replacement_that_broke_off_is_finished() {
    for server_has in [7, 8] {
        let (server, directory) = (StandIn::start(), tempfile::tempdir().unwrap());
        server.desk().key = Some(public(server_has));
        let open = |rotate, seed| {
            let path = directory.path().join("key");
            muster_workers::pool::KeyFile::open(&path, rotate, || [seed; 32]).unwrap()
        };
        drop((open(false, 7), open(true, 8)));
        let scene = Scene::begin(server, directory, Cast::default());
        scene.server.hand_out(65, json!({}));
        scene.server.result(65).await;
        assert_eq!(scene.server.desk().key, Some(public(8)));
        assert_eq!(fs::read(scene.directory.path().join("key")).unwrap(), [8; 32]);
    }
}

// P16: how the worker as it runs leaves.

/// P16: what runs may end, and its result is submitted; nothing more is taken.
#[tokio::test]
async fn what_runs_is_finished() {
    let script = "until [ -e $1/go ]; do sleep 0.01; done; echo '{}'";
    let mut scene = Scene::exec(script).await;
    scene.server.hand_out(65, json!({}));
    scene.report.wait_for(|report| report.running == 1).await.unwrap();
    scene.ask_to_leave();
    scene.report.wait_for(|report| report.state == "leaving").await.unwrap();
    scene.server.hand_out(129, json!({}));
    fs::write(scene.directory.path().join("go"), "").unwrap();
    assert_eq!(scene.over().await, Over::Left);
    let desk = scene.server.desk();
    assert_eq!((desk.results.keys().collect::<Vec<_>>(), desk.queue.len()), (vec![&65], 1));
}

/// P16: what takes longer than the grace is ended, with nothing told of it; the next life executes it.
#[tokio::test]
async fn what_takes_too_long_is_left_to_the_next_life() {
    let script = "[ -e $1/again ] || { touch $1/again; sleep 1000; }; echo '{}'";
    let cast = || Cast { grace: Millis(100), script: Some(script), ..Cast::default() };
    let mut scene = Scene::start(cast()).await;
    scene.server.hand_out(65, json!({}));
    while !scene.directory.path().join("again").exists() {
        tokio::task::yield_now().await;
    }
    assert_eq!(scene.leave().await, Over::Left);
    assert_eq!((scene.server.desk().results.len(), scene.spool().0), (0, 0));
    let (server, directory) = scene.part();
    let scene = Scene::begin(server, directory, cast());
    scene.server.result(65).await;
}

// P6, P7, P16: a server that fails over to another at another address.

const POLL: &str = "POST jobs/poll";
const RESUME: &str = "POST jobs/resume";
const SUBMIT: &str = "POST jobs/submit";

/// P6, P16: a poll that broke off is not sent again, which could start another: what was started is asked for first, at
/// the next server; then the next poll goes there.
#[tokio::test]
async fn a_poll_that_broke_off_is_asked_after() {
    let (mut scene, next) = Scene::with_next(Cast::default()).await;
    scene.server.first(POLL).await;
    // It is started, and the answer never leaves.
    next.desk().started.insert(65, json!({"op": "sum", "values": [2, 3]}));
    scene.server.die();
    let resume = next.first(RESUME).await;
    assert_eq!(next.result(65).await["output"], json!({"sum": 5}));
    next.first(POLL).await;
    next.hand_out(66, json!({}));
    next.result(66).await;
    scene.counted(|counts| counts.completed == 2).await;
    let login = next.count("POST auth/login");
    assert_eq!((login, resume.credential.as_str()), (1, next.first(POLL).await.credential.as_str()));
}

/// P7, P8, P16: a result whose answer broke off with its server goes to the next one, the very same bytes, and counts once.
#[tokio::test]
async fn a_result_goes_to_the_next_server() {
    let script = "while ! test -e \"$1/go\"; do sleep 0.05; done; echo '{}'";
    let (mut scene, next) = Scene::with_next(Cast { script: Some(script), ..Cast::default() }).await;
    scene.server.hand_out(65, json!({}));
    scene.server.first(POLL).await;
    scene.report.wait_for(|report| report.running == 1).await.unwrap();
    scene.server.die();
    fs::write(scene.directory.path().join("go"), "").unwrap();
    let submit = next.first(SUBMIT).await;
    assert_eq!(submit.json()["assignment_id"], 65);
    scene.counted(|counts| counts.completed == 1).await;
    assert_eq!(next.count("POST workers/register"), 1);
    assert_eq!(next.desk().results.len(), 1);
}

// P16: a worker that is a process of its own, killed without warning.

fn start(server: &StandIn, directory: &Path, script: &str) -> Child {
    let mut worker = Command::new(worker_binary());
    worker.args(["pool", &server.url]).arg(directory).args(["sh", "-c", script, "sh"]).arg(directory);
    worker.stdin(Stdio::null()).kill_on_drop(true).spawn().unwrap()
}

/// Counts how often it is run.
const COUNTING: &str = "echo . >> $1/runs; date +%N > $1/now; printf '{\"now\": \"%s\"}' $(cat $1/now)";

/// P16: a result that is on disk is submitted by the next life, first, byte for byte, and is not executed again.
#[tokio::test]
async fn a_killed_worker_submits_what_it_had_written_down() {
    let (server, place) = (StandIn::start(), tempfile::tempdir().unwrap());
    server.fail_always("submit", Some(Fault::Status(503, "busy")));
    let mut worker = start(&server, place.path(), COUNTING);
    server.hand_out(65, json!({}));
    let refused = server.nth("POST jobs/submit", 0).await;
    worker.kill().await.unwrap();
    server.fail_always("submit", None);
    let before = server.calls().len();
    let mut worker = start(&server, place.path(), COUNTING);
    server.nth("POST jobs/resume", 1).await;
    assert_eq!(server.desk().results[&65], refused.body);
    let calls = server.calls()[before..].to_vec();
    assert_eq!(calls[..4], ["POST auth/login", "GET workers", "POST jobs/submit", "POST jobs/resume"]);
    server.hand_out(129, json!({}));
    server.result(129).await;
    assert_eq!(fs::read_to_string(place.path().join("runs")).unwrap().lines().count(), 2);
    worker.kill().await.unwrap();
}

/// P8, P16: a result that was taken, and whose answer died with the worker, is recognised by its bytes.
#[tokio::test]
async fn a_result_that_was_taken_is_recognised() {
    let (server, place) = (StandIn::start(), tempfile::tempdir().unwrap());
    server.fail_always("submit", Some(Fault::Lost));
    let mut worker = start(&server, place.path(), COUNTING);
    server.hand_out(65, json!({}));
    server.result(65).await;
    worker.kill().await.unwrap();
    server.fail_always("submit", None);
    let taken = server.desk().results[&65].clone();
    let mut worker = start(&server, place.path(), COUNTING);
    server.nth("POST jobs/resume", 1).await;
    let submitted = server.desk().calls.iter().rfind(|call| call.what == "POST jobs/submit").cloned();
    assert_eq!((submitted.unwrap().body, &server.desk().results[&65]), (taken.clone(), &taken));
    worker.kill().await.unwrap();
    let spool = muster_spool::Directory::for_reading(place.path().join("spool"));
    assert_eq!(muster_spool::set_aside_entries(&spool).unwrap(), []);
}

/// P6, P16: what was started and has no result is executed again, under the same assignment, and never beside itself.
#[tokio::test]
async fn a_killed_worker_executes_again_what_had_no_result() {
    let (server, place) = (StandIn::start(), tempfile::tempdir().unwrap());
    let script = "[ -e $1/busy ] && echo twice >> $1/twice; touch $1/busy; echo . >> $1/runs
        until [ -e $1/go ]; do sleep 0.01; done; rm $1/busy; echo '{}'";
    let mut worker = start(&server, place.path(), script);
    server.hand_out(65, json!({}));
    // A shell creates the file before it writes the line.
    while !fs::read_to_string(place.path().join("runs")).is_ok_and(|runs| runs.ends_with('\n')) {
        tokio::task::yield_now().await;
    }
    worker.kill().await.unwrap();
    // Its guard ends the program; the next life waits for that. What the program marks is left as it was.
    muster_worker_kit::process::wait_for_earlier_guards(&place.path().join("spool/guards.lock"))
        .await
        .unwrap();
    fs::remove_file(place.path().join("busy")).unwrap();
    fs::write(place.path().join("go"), "").unwrap();
    let mut worker = start(&server, place.path(), script);
    assert_eq!(server.result(65).await["nonce"], "nonce-65");
    assert_eq!(fs::read_to_string(place.path().join("runs")).unwrap().lines().count(), 2);
    assert!(!place.path().join("twice").exists());
    worker.kill().await.unwrap();
}
