//! Checks to make after every restart.

use super::{Acked, Ledger};
use crate::{Client, Database, Event, Request};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Holds the server to everything it acknowledged. The load goes on meanwhile.
pub fn all(database: &Database, node: &Client, ledger: &Ledger) {
    // First what was promised, then what there is: the other way round a promise could be younger than the look.
    let acked = ledger.acked().clone();
    runs_exist(database, &acked);
    effects_exist(database, &acked);
    nothing_is_doubled(database);
    queues_are_serial(database);
    feed_is_whole(database);
    repeats_are_known(node, &acked);
}

/// Holds the server to the end of everything.
pub fn drained(database: &Database, ledger: &Ledger) {
    assert_eq!(database.count("SELECT count(*) FROM task_devices WHERE status IN ('pending', 'running')"), 0);
    assert_eq!(database.count("SELECT count(*) FROM tasks WHERE completed_at IS NULL"), 0);
    let submitted = "FROM tasks WHERE schedule_id IS NULL";
    let runs = database.count(&format!("SELECT count(*) {submitted}"));
    let acked: BTreeSet<_> = ledger.acked().runs.iter().cloned().collect();
    assert_eq!(acked.len() as i64, runs, "each run was answered once, under its key");
    let keys = database.count(&format!("SELECT count(DISTINCT title) {submitted}"));
    assert_eq!(keys, runs, "a repeat under the same key makes no second run");
}

fn runs_exist(database: &Database, acked: &Acked) {
    let status: BTreeMap<String, String> = database
        .rows("SELECT id, status FROM tasks")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone()))
        .collect();
    for run in &acked.runs {
        assert!(status.contains_key(run), "the acknowledged run {run} is lost");
    }
    for run in &acked.cancelled {
        assert_eq!(status.get(run).map(String::as_str), Some("cancelled"), "the cancelled run {run}");
    }
}

/// Each acknowledged report stands in the history, each end in the rows.
fn effects_exist(database: &Database, acked: &Acked) {
    let entered: BTreeSet<(String, String, String)> = database
        .rows("SELECT task_device_id, attempt_no, event_type FROM execution_logs")
        .into_iter()
        .map(|row| (row[0].clone(), row[1].clone(), row[2].clone()))
        .collect();
    let has = |task: &str, attempt: &str, word: &str| {
        entered.contains(&(task.to_owned(), attempt.to_owned(), word.to_owned()))
    };
    let events: BTreeSet<String> = database.column("SELECT event_id FROM node_events").into_iter().collect();
    for (event, answer) in &acked.callbacks {
        assert!(events.contains(&event.id), "the acknowledged event {} is lost", event.id);
        let Some(word) = effect_of(event).filter(|_| answer.get("stale").is_none()) else { continue };
        let (task, attempt) =
            (event.payload["task_id"].as_str().unwrap(), event.payload["attempt"].to_string());
        assert!(has(task, &attempt, word), "{} has no effect: {task} #{attempt} {word}", event.id);
    }
    for (row, status, attempt) in &acked.ended {
        let word = if status == "completed" { "SUCCEEDED" } else { "FAILED" };
        let cancelled = status == "cancelled";
        assert!(cancelled || has(row, &attempt.to_string(), word), "{row} #{attempt} {word} is lost");
    }
}

fn effect_of(event: &Event) -> Option<&'static str> {
    match (event.kind, event.payload["status"].as_str()) {
        ("task_started", _) => Some("ACKED"),
        ("task_finished", Some("succeeded")) => Some("SUCCEEDED"),
        ("task_finished", _) => Some("FAILED"),
        _ => None,
    }
}

fn nothing_is_doubled(database: &Database) {
    let ends = "event_type IN ('SUCCEEDED', 'FAILED', 'TIMEOUT')";
    for (what, sql) in [
        ("one SENT per attempt", "SELECT task_device_id, attempt_no FROM execution_logs WHERE event_type = 'SENT' GROUP BY 1, 2 HAVING count(*) > 1".to_owned()),
        ("one ACKED per attempt", "SELECT task_device_id, attempt_no FROM execution_logs WHERE event_type = 'ACKED' GROUP BY 1, 2 HAVING count(*) > 1".to_owned()),
        ("one end per attempt", format!("SELECT task_device_id, attempt_no FROM execution_logs WHERE {ends} GROUP BY 1, 2 HAVING count(*) > 1")),
        ("one CREATED per row", "SELECT task_device_id FROM execution_logs WHERE event_type = 'CREATED' GROUP BY 1 HAVING count(*) > 1".to_owned()),
        ("one row per run and device", "SELECT task_id, device_id FROM task_devices GROUP BY 1, 2 HAVING count(*) > 1".to_owned()),
        ("one record per event", "SELECT event_id FROM node_events GROUP BY 1 HAVING count(*) > 1".to_owned()),
        ("one running row per device", "SELECT device_id FROM task_devices WHERE status = 'running' GROUP BY 1 HAVING count(*) > 1".to_owned()),
        ("no attempt beyond the last", "SELECT id FROM task_devices WHERE attempt > max_attempts".to_owned()),
        ("slots are kept", "SELECT pc_id FROM task_devices WHERE status = 'running' GROUP BY 1 HAVING count(*) > 6".to_owned()),
        ("what ended has an end", "SELECT id FROM task_devices WHERE status IN ('completed', 'failed', 'cancelled') AND completed_at IS NULL".to_owned()),
    ] {
        assert_eq!(database.rows(&sql), Vec::<Vec<String>>::new(), "{what}");
    }
}

fn queues_are_serial(database: &Database) {
    let two = "SELECT queue FROM tasks WHERE status = 'running' GROUP BY 1 HAVING count(*) > 1";
    assert_eq!(database.column(two), Vec::<String>::new(), "two active runs in one queue");
    let overtaken = "SELECT t.id FROM tasks t JOIN tasks older ON older.queue = t.queue AND older.seq < t.seq \
                     WHERE t.status = 'running' AND older.status = 'pending'";
    assert_eq!(database.column(overtaken), Vec::<String>::new(), "a run has overtaken an older one");
}

fn feed_is_whole(database: &Database) {
    let mut next = 1;
    for row in database.rows("SELECT first_seq, count FROM feed ORDER BY first_seq") {
        let (first, count): (i64, i64) = (row[0].parse().unwrap(), row[1].parse().unwrap());
        assert_eq!(first, next, "the feed has a gap");
        next = first + count;
    }
}

/// The last reports before the death, and some from long ago, are known when they come again.
fn repeats_are_known(node: &Client, acked: &Acked) {
    let send =
        |event: &Event| node.insist(&Request::new("POST", "/api/nodes/callback").json(&event.nested()));
    let recent = acked.callbacks.iter().rev().take(100);
    let old = acked.callbacks.iter().step_by(acked.callbacks.len() / 50 + 1);
    for (event, _) in recent.chain(old) {
        assert_eq!(send(event).expect(200), json!({"ok": true, "duplicate": true}), "{}", event.id);
    }
    if let Some((event, _)) = acked.callbacks.last() {
        let resent = event.clone().set("timestamp", Value::from(1));
        assert_eq!(send(&resent).expect(200), json!({"ok": true, "duplicate": true}), "a new timestamp");
        let other_run = Value::from("01990000-0000-7000-8000-000000000001");
        let _ = send(&event.clone().set("run_id", other_run)).problem(409);
    }
}
