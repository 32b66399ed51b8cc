//! Runs by the calendar: Q17.
//!
//! Nobody waits for a slot here: it is moved to where it is needed, in the tables, while no server runs.

use muster_tests::{Request, Server, now_ms, until};
use rusqlite::Connection;
use serde_json::{Value, json};

/// A schedule whose own slots are years away.
fn create(server: &Server, missed: &str) -> String {
    let run = json!({"workflow_id": "w", "params": {"k": 1}, "queue": missed, "title": "nightly"});
    let body = json!({"cron": "0 0 29 2 *", "timezone": "Asia/Seoul", "missed": missed, "run": run});
    let made = server.admin().post("/api/schedules", &body).expect(201);
    assert!(made["next_at"].as_i64().unwrap() > now_ms());
    made["schedule_id"].as_str().unwrap().to_owned()
}

/// Moves the next slot of all schedules.
fn move_slots(server: &Server, next_at: i64) {
    let file = Connection::open(server.data().join("muster.db")).unwrap();
    assert!(file.execute("UPDATE schedules SET next_at = ?1", [next_at]).unwrap() > 0);
}

fn schedule(server: &Server, id: &str) -> Value {
    server.admin().get(&format!("/api/schedules/{id}")).expect(200)
}

fn runs(server: &Server, schedule: &str) -> i64 {
    server.database().count(&format!("SELECT count(*) FROM tasks WHERE schedule_id = '{schedule}'"))
}

/// Waits until all that was due was dealt with.
fn settled(server: &Server, id: &str) -> Value {
    let ahead = || Some(schedule(server, id)).filter(|shown| shown["next_at"].as_i64().unwrap() > now_ms());
    until("the next slot lies ahead", ahead)
}

/// Q17: of missed slots one makes a run with `once` and none with `skip`, and that once across restarts and kill -9.
#[test]
fn missed_slots_follow_their_policy_once() {
    let mut server = Server::start();
    let [once, skip] = ["once", "skip"].map(|missed| create(&server, missed));
    server.terminate();
    move_slots(&server, 1);
    for _ in 0..3 {
        server.restart();
        let (shown, skipped) = (settled(&server, &once), settled(&server, &skip));
        assert_eq!((runs(&server, &once), runs(&server, &skip)), (1, 0));
        let run = server.run(shown["last_run_id"].as_str().unwrap());
        assert_eq!((&run["schedule_id"], &run["title"]), (&json!(once), &json!("nightly")));
        assert!(
            shown["last_slot"].as_i64().is_some_and(|slot| slot > 1 && slot < now_ms()),
            "the latest one"
        );
        assert_eq!([&skipped["last_slot"], &skipped["last_run_id"]], [&Value::Null; 2]);
        server.kill9();
    }
    move_slots(&server, 1);
    server.restart();
    settled(&server, &once);
    settled(&server, &skip);
    assert_eq!((runs(&server, &once), runs(&server, &skip)), (2, 0), "what was missed anew is served anew");
}

/// Q17: a slot makes its run when its time has come, not before; a deleted schedule makes none.
#[test]
fn a_slot_makes_its_run_in_time() {
    // However slow the machine is, the slot is not missed.
    let mut server = Server::with(&[("MUSTER_OPERATIONS__SCHEDULE_GRACE_S", "3600")]);
    let [kept, deleted] = ["skip", "once"].map(|missed| create(&server, missed));
    let gone = Request::new("DELETE", &format!("/api/schedules/{deleted}"));
    assert_eq!(server.admin().send(gone).status, 204);
    server.terminate();
    let slot = now_ms() + 1_500;
    move_slots(&server, slot);
    server.restart();
    until("the run is there", || (runs(&server, &kept) == 1).then_some(()));
    let shown = schedule(&server, &kept);
    assert_eq!(shown["last_slot"], slot);
    let run = server.run(shown["last_run_id"].as_str().unwrap());
    assert!(run["created_at"].as_i64().unwrap() >= slot);
    assert_eq!(server.database().count("SELECT count(*) FROM schedules"), 1);
    assert_eq!(runs(&server, &deleted), 0);
}
