//! The rows and their history: Q1, Q12, Q13.

use crate::{run, run_in};
use muster_tests::{FakeNode, Server};
use serde_json::{Value, json};

/// Q1: `task_devices` has the contract's columns, and a dashboard's SQL sees what the API shows.
#[test]
fn one_row_says_how_it_stands() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 4);
    let run = server.submit(&run_in("default", 2));
    let jobs = node.jobs(3);
    node.succeed(&jobs[0]);
    node.fail(&jobs[1]);
    let columns = server.database().columns_of("task_devices");
    for column in COLUMNS {
        assert!(columns.iter().any(|known| known == column), "{column} is missing in {columns:?}");
    }
    for restart in [false, true] {
        if restart {
            server.kill9();
            server.restart();
        }
        assert_eq!(as_sql(&server), as_api(&server, &run));
        let statuses = server.database().column("SELECT status FROM task_devices ORDER BY id");
        assert_eq!(statuses, ["completed", "pending", "running"]);
        let counts = &server.run(&run)["counts"];
        assert_eq!(counts, &json!({"pending": 1, "running": 1, "completed": 1, "failed": 0, "cancelled": 0}));
    }
}

fn as_sql(server: &Server) -> Vec<String> {
    let sql = "SELECT id, task_id, device_id, pc_id, status, attempt, max_attempts, coalesce(error, 'null'), \
               created_at, coalesce(started_at, 'null'), coalesce(completed_at, 'null') FROM task_devices ORDER BY id";
    server.database().rows(sql).into_iter().map(|row| row.join(" ")).collect()
}

fn as_api(server: &Server, run: &str) -> Vec<String> {
    let keys = [
        "id",
        "task_id",
        "device_id",
        "pc_id",
        "status",
        "attempt",
        "max_attempts",
        "error",
        "created_at",
        "started_at",
        "completed_at",
    ];
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |row: &Value| keys.map(|key| text(&row[key])).join(" ");
    server.rows(run).iter().map(row).collect()
}

/// Q12: CREATED once, then per attempt SENT, ACKED and its end, then RETRY_SCHEDULED or FAILED_FINAL.
#[test]
fn every_attempt_has_its_history() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&run_in("default", 2));
    let job = node.job();
    node.fail(&job);
    node.fail(&node.job());
    let entries =
        server.database().rows("SELECT attempt_no, event_type, level FROM execution_logs ORDER BY seq");
    let entries: Vec<String> = entries.iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        entries,
        [
            "1 CREATED info",
            "1 SENT info",
            "1 ACKED info",
            "1 FAILED error",
            "1 RETRY_SCHEDULED warn",
            "2 SENT info",
            "2 ACKED info",
            "2 FAILED error",
            "2 FAILED_FINAL error",
        ]
    );
    let sequence = server.database().column("SELECT seq FROM execution_logs ORDER BY seq");
    let first: u64 = sequence[0].parse().unwrap();
    assert!(sequence.iter().zip(first..).all(|(seq, n)| *seq == n.to_string()), "{sequence:?}");
    let told = server.history(job["task_id"].as_str().unwrap());
    assert_eq!((told.len(), told[0].1.as_str(), told[8].1.as_str()), (9, "CREATED", "FAILED_FINAL"));
    let shown =
        server.admin().get(&format!("/api/task_devices/{}/history", job["task_id"].as_str().unwrap()));
    let times: Vec<i64> = shown.expect(200)["history"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["at"].as_i64().unwrap())
        .collect();
    assert!(times.is_sorted(), "oldest first");
}

const COLUMNS: [&str; 15] = [
    "id",
    "task_id",
    "pc_id",
    "device_id",
    "status",
    "attempt",
    "max_attempts",
    "error",
    "result",
    "config",
    "lease_expires_at",
    "created_at",
    "started_at",
    "timeout_at",
    "completed_at",
];
