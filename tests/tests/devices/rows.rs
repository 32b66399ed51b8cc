//! The rows of a run, their history, attempts and files: Q1, Q12, Q13, Q15, N21.

use crate::{run, run_in};
use muster_tests::{Event, FakeNode, Server, percent_encode};
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
            server.kill9_and_restart();
        }
        assert_eq!(as_sql(&server), as_api(&server, &run));
        let statuses = server.database().column("SELECT status FROM task_devices ORDER BY id");
        assert_eq!(statuses, ["completed", "pending", "running"]);
        let counts = &server.run(&run)["counts"];
        assert_eq!(counts, &json!({"pending": 1, "running": 1, "completed": 1, "failed": 0, "cancelled": 0}));
    }
}

/// The columns of rows that the tables and the API have in common.
fn shown(row: impl Fn(&str) -> String) -> String {
    COLUMNS
        .iter()
        .filter(|column| !["result", "config", "lease_expires_at", "timeout_at"].contains(column))
        .map(|column| row(column))
        .collect::<Vec<_>>()
        .join(" ")
}

fn as_sql(server: &Server) -> Vec<String> {
    let columns = shown(|column| format!(", coalesce({column}, 'null')"));
    let sql = format!("SELECT {} FROM task_devices ORDER BY id", columns.trim_start_matches(", "));
    server.database().rows(&sql).into_iter().map(|row| row.join(" ")).collect()
}

fn as_api(server: &Server, run: &str) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    server.rows(run).iter().map(|row| shown(|column| text(&row[column]))).collect()
}

/// Q12: `execution_logs` has CREATED once, then for each attempt SENT, ACKED and FAILED, and then RETRY_SCHEDULED or
/// FAILED_FINAL, with their levels and numbers without a gap.
#[test]
fn every_attempt_has_its_history() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&run_in("default", 2));
    node.fail(&node.job());
    node.fail(&node.job());
    let sql = "SELECT seq - (SELECT min(seq) FROM execution_logs), attempt_no, event_type, level FROM execution_logs \
        ORDER BY seq";
    let entries: Vec<String> = server.database().rows(sql).iter().map(|row| row.join(" ")).collect();
    assert_eq!(
        entries,
        [
            "0 1 CREATED info",
            "1 1 SENT info",
            "2 1 ACKED info",
            "3 1 FAILED error",
            "4 1 RETRY_SCHEDULED warn",
            "5 2 SENT info",
            "6 2 ACKED info",
            "7 2 FAILED error",
            "8 2 FAILED_FINAL error",
        ]
    );
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

fn list(server: &Server, path: &str, name: &str) -> Vec<Value> {
    server.admin().get(path).expect(200)[name].as_array().unwrap().clone()
}

/// Q12, Q10, Q7: each attempt of a run has a beginning, an end and an outcome, page by page.
#[test]
fn attempts_are_listed() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let run = server.submit(&run_in("default", 2));
    let jobs = node.jobs(3);
    node.succeed(&jobs[0]);
    node.fail(&jobs[1]);
    node.fail(&node.job());
    let path = format!("/api/runs/{run}/attempts");
    let outcomes = |attempts: &[Value]| -> Vec<(String, u64, String)> {
        let word = |attempt: &Value, key: &str| attempt[key].as_str().unwrap().to_owned();
        let one = |at: &Value| (word(at, "device_id"), at["attempt"].as_u64().unwrap(), word(at, "outcome"));
        attempts.iter().map(one).collect()
    };
    let expected = |last: &str| {
        [
            ("PC-01-d1", 1, "succeeded"),
            ("PC-01-d2", 1, "failed"),
            ("PC-01-d2", 2, "failed"),
            ("PC-01-d3", 1, last),
        ]
        .map(|(device, attempt, outcome)| (device.to_owned(), attempt, outcome.to_owned()))
    };
    let all = list(&server, &path, "attempts");
    assert_eq!(outcomes(&all), expected("running"));
    let (ended, running) = (&all[0], &all[3]);
    assert!(ended["ended_at"].as_i64().unwrap() >= ended["started_at"].as_i64().unwrap());
    assert_eq!((&running["ended_at"], &running["pc_id"]), (&json!(null), &json!("PC-01")));
    assert_eq!(running["task_device_id"], jobs[2]["task_id"]);
    let page = server.admin().get(&format!("{path}?limit=2")).expect(200);
    let next = percent_encode(page["next"].as_str().unwrap());
    let rest = list(&server, &format!("{path}?limit=2&after={next}"), "attempts");
    assert_eq!([page["attempts"].as_array().unwrap().clone(), rest].concat(), all);
    server.cancel(&run);
    node.tell(&Event::failed("PC-01", &jobs[2], "unknown"));
    assert_ne!(outcomes(&list(&server, &path, "attempts"))[3].2, "running", "it was cancelled");
    assert_eq!(server.admin().get(&format!("{path}?status=failed")).problem(422)["field"], "status");
}

/// Q15: a device's rows are listed over all runs, newest first, with their parameters.
#[test]
fn a_device_has_its_rows() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let mut runs = Vec::new();
    for _ in 0..3 {
        runs.push(server.submit(&run()));
        node.jobs(2).iter().for_each(|job| node.succeed(job));
    }
    let other = json!({"workflow_id": "w", "scope": {"devices": ["PC-01-d2"]}});
    let _ = server.submit(&other);
    let rows = list(&server, "/api/devices/PC-01-d1/task_devices", "task_devices");
    let of: Vec<&Value> = rows.iter().map(|row| &row["task_id"]).collect();
    assert_eq!(of, runs.iter().rev().collect::<Vec<_>>());
    for row in &rows {
        assert_eq!([&row["device_id"], &row["status"]], ["PC-01-d1", "completed"]);
        assert_eq!(
            row,
            &server.admin().get(&format!("/api/task_devices/{}", row["id"].as_str().unwrap())).expect(200)
        );
    }
    assert_eq!(list(&server, "/api/devices/PC-01-d1/task_devices?limit=2", "task_devices"), rows[..2]);
    assert_eq!(
        server.admin().get("/api/devices/PC-01-d1/task_devices?after=x").problem(422)["field"],
        "after"
    );
}

/// N21, Q15: the files that rows left behind are listed by run and by device, and `url` leads to each; also on the command line.
#[test]
fn files_are_listed() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let run = server.submit(&run());
    let jobs = node.jobs(3);
    for job in &jobs[..2] {
        let offer = node.upload(job, b"hello");
        let artifact = json!({"kind": "screenshot", "storage_path": offer["storage_path"],
            "public_url": offer["public_url"]});
        node.tell(&Event::started("PC-01", job));
        node.tell(&Event::succeeded("PC-01", job).set("artifact", artifact));
    }
    node.tell(&Event::started("PC-01", &jobs[2]));
    node.tell(&Event::succeeded("PC-01", &jobs[2]).unset("artifact"));
    let path = format!("/api/runs/{run}/artifacts");
    let files = list(&server, &path, "artifacts");
    let devices: Vec<&Value> = files.iter().map(|file| &file["device_id"]).collect();
    assert_eq!(devices, ["PC-01-d1", "PC-01-d2"]);
    for file in &files {
        assert_eq!((&file["kind"], &file["attempt"]), (&json!("screenshot"), &json!(1)));
        let fetched = server.admin().get(file["url"].as_str().unwrap());
        assert_eq!((fetched.status, &*fetched.body), (200, b"hello" as &[u8]));
    }
    let page = server.admin().get(&format!("{path}?limit=1")).expect(200);
    let next = percent_encode(page["next"].as_str().unwrap());
    assert_eq!(list(&server, &format!("{path}?limit=1&after={next}"), "artifacts"), files[1..]);
    assert_eq!(list(&server, "/api/devices/PC-01-d2/artifacts", "artifacts"), files[1..]);
    assert_eq!(list(&server, "/api/devices/PC-01-d3/artifacts", "artifacts"), [json!(null); 0]);
    for whose in [["--run", &run], ["--device", "PC-01-d1"]] {
        let listed = server.client_command(&["artifact", "list", "--json"]).args(whose).output().unwrap();
        let told: Value = serde_json::from_slice(&listed.stdout).unwrap();
        assert_eq!(told["artifacts"][0], files[0], "{whose:?}");
    }
}
