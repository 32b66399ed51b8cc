//! Every privileged act stands in the audit log: I7.

use crate::routes::{self, Guard};
use muster_tests::{Client, Court, FakeNode, FakePoolWorker, FakeSimWorker, Request, Server, until};
use serde_json::{Value, json};

/// Act of an operator, its target, and its name in the audit log.
struct Act {
    route: &'static str,
    id: String,
    body: Value,
    action: &'static str,
}

fn act(route: &'static str, id: &str, body: Value, action: &'static str) -> Act {
    Act { route, id: id.to_owned(), body, action }
}

/// I7: each mutating route of operators and ADMINs leaves one line: who, what, to what; reading and refused requests leave none.
#[test]
fn every_privileged_act_is_written_down() {
    let court = court_that_asks();
    let home = court.home();
    let mut server = Server::with(&[
        ("MUSTER_COURT__DIRECTORY", home.to_str().unwrap()),
        ("MUSTER_SIMULATION__QUARANTINE_AFTER", "1000"),
        // Workers here say nothing, however long all this takes.
        ("MUSTER_SIMULATION__HEARTBEAT_MS", "60000"),
        ("MUSTER_SIMULATION__MISSES_UNTIL_LOST", "100"),
    ]);
    let boss = server.user("boss", &["ADMIN"]);
    let acts = acts(&server, &boss);
    every_route_is_here(&server, &acts);
    let mut lines = log(&server).len();
    for Act { route, id, body, action } in &acts {
        let (method, path) = route.split_once(' ').unwrap();
        let path = path.replace("{id}", id).replace("{name}", id);
        let refused = server.anonymous().send(Request::new(method, &path).json(body));
        assert_eq!(refused.status, 401);
        // An entry that is being moved to the quarantine can be confirmed once it is there.
        let answer = until(route, || {
            let answer = boss.send(Request::new(method, &path).json(body));
            (answer.status != 409).then_some(answer)
        });
        assert!(answer.status < 300, "{route}: {} {}", answer.status, answer.text());
        let log = log(&server);
        assert_eq!(log.len(), lines + 1, "{route} left {} lines", log.len() - lines);
        lines = log.len();
        assert_eq!((&log[0]["username"], &log[0]["action"]), (&json!("boss"), &json!(action)), "{route}");
        assert!(log[0]["at"].as_str().unwrap().ends_with('Z'));
    }
    let before = log(&server);
    server.kill9_and_restart();
    assert_eq!(log(&server), before, "it is durable");
}

/// I7: whoever acts may say why, and it stands in the log after what they acted on; what is no reason is refused, and nothing done.
#[test]
fn a_reason_stands_in_the_log() {
    let server = Server::start();
    let boss = server.user("boss", &["OPERATOR"]);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&json!({"workflow_id": "w"}));
    let because =
        |path: &str, reason: &str| boss.send(Request::new("POST", path).header("Muster-Reason", reason));
    let cancel = format!("/api/runs/{run}/cancel");
    let lines = log(&server).len();
    for wrong in ["100%", "a%0Ab", "%FF", &"x".repeat(501)] {
        assert_eq!(because(&cancel, wrong).problem(422)["field"], "Muster-Reason", "{wrong}");
        let read = Request::new("GET", "/api/runs").header("Muster-Reason", wrong);
        assert_eq!(boss.send(read).status, 200, "nobody is asked why they read");
    }
    assert_eq!((log(&server).len(), &server.run(&run)["status"]), (lines, &json!("running")));
    let _ = because(&cancel, "wrong%20build:%20%EA%B8%B0").expect(200);
    let _ = because("/api/nodes/PC-01/drain", "").expect(200);
    let log = log(&server);
    assert_eq!(log[1]["subject"], json!(format!("run {run}: wrong build: 기")));
    assert_eq!(log[0]["subject"], json!("node PC-01"));
    assert_eq!(
        because("/rest/v1/rpc/fn_timeout_tasks_and_task_devices", "%").problem(422)["field"],
        "Muster-Reason"
    );
}

fn log(server: &Server) -> Vec<Value> {
    server.admin().get("/audit?limit=1000").expect(200)["acts"].as_array().unwrap().clone()
}

fn every_route_is_here(server: &Server, acts: &[Act]) {
    for (route, guard) in routes::routes(server) {
        let is_privileged = matches!(
            guard,
            Guard::Operator | Guard::OperatorOrNode | Guard::OperatorOrRenderer | Guard::Admin
        );
        let is_here = acts.iter().any(|act| act.route == route.name());
        let reads = route.method == "GET";
        assert!(!is_privileged || reads || is_here, "{}: do it here", route.name());
    }
}

/// One of each, in an order in which each succeeds.
fn acts(server: &Server, boss: &Client) -> Vec<Act> {
    let mut acts = of_runs(server);
    acts.extend(of_nodes());
    acts.extend(of_sessions(server));
    acts.extend(of_the_pool(server, boss));
    acts.push(act("POST /api/court/tasks/{id}/reply", ASKING, json!({"text": "Ada"}), "reply_to_court"));
    acts
}

/// A court in which a task waits for an answer.
fn court_that_asks() -> Court {
    let court = Court::as_shipped();
    let question = json!({"task_id": ASKING, "question": "whom?", "general": "greet",
        "asked_at": "2026-01-01T10:00:00Z", "reply_context": {"task_id": ASKING, "target_general": "greet"}});
    court.write(&format!("state/questions/open/{ASKING}.json"), &question.to_string());
    court
}

const ASKING: &str = "task-20260101-001";

fn of_runs(server: &Server) -> Vec<Act> {
    let node = FakeNode::enrolled(server.node(), "PC-01", 4);
    let everywhere =
        json!({"workflow_id": "w", "params": {}, "max_attempts": 1, "scope": {"pcs": ["PC-01"]}});
    let run = server.submit(&everywhere);
    // One fails, two are at work, and one waits to be claimed.
    let jobs = node.jobs(3);
    node.fail(&jobs[0]);
    let device = jobs[0]["device_id"].as_str().unwrap();
    let rpc = |route: &'static str, more: Value, action: &'static str| {
        let who = if action == "claim_tasks" { "runner_pc_name" } else { "runner_pc_id" };
        let mut body = json!({who: "PC-01"});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        act(route, "", body, action)
    };
    let claim = json!({"max_to_claim": 9, "lease_minutes": 5});
    let renew = json!({"task_device_id": jobs[1]["task_id"], "lease_minutes": 5});
    let complete = json!({"p_task_device_id": jobs[1]["task_id"], "p_result": {}});
    let fail = json!({"p_task_device_id": jobs[2]["task_id"], "p_error": "e"});
    let nightly = json!({"cron": "0 3 * * *", "run": {"workflow_id": "w"}});
    let schedule = server.admin().post("/api/schedules", &nightly).expect(201)["schedule_id"].clone();
    let schedule = schedule.as_str().unwrap();
    vec![
        act("POST /api/schedules", "", nightly, "add_schedule"),
        act("DELETE /api/schedules/{id}", schedule, json!({}), "delete_schedule"),
        act("POST /api/devices/{id}/return", device, json!({"note": "n"}), "return_device"),
        act("PATCH /api/devices/{id}", device, json!({"labels": {"a": "b"}}), "label_device"),
        rpc("POST /rest/v1/rpc/claim_task_devices_for_pc", claim, "claim_tasks"),
        rpc("POST /rest/v1/rpc/renew_task_device_lease", renew, "renew_task"),
        rpc("POST /rest/v1/rpc/complete_task_device", complete, "complete_task"),
        rpc("POST /rest/v1/rpc/fail_or_retry_task_device", fail, "fail_task"),
        act("POST /rest/v1/rpc/fn_timeout_tasks_and_task_devices", "", json!({}), "sweep"),
        act("POST /api/runs", "", everywhere, "submit_run"),
        act("POST /api/runs/{id}/retry", &run, json!({}), "submit_run"),
        act("POST /api/runs/{id}/cancel", &run, json!({}), "cancel_run"),
    ]
}

fn of_nodes() -> Vec<Act> {
    vec![
        act("PATCH /api/pcs/{id}", "PC-01", json!({"max_devices": 3}), "cap_node"),
        act("POST /api/nodes/{id}/drain", "PC-01", json!({}), "drain_node"),
        act("POST /api/nodes/{id}/resume", "PC-01", json!({}), "resume_node"),
        act("POST /api/nodes/{id}/secret", "PC-01", json!({}), "rotate_secret"),
    ]
}

fn of_sessions(server: &Server) -> Vec<Act> {
    enrol_workers(server);
    let session = json!({"sessionId": "s", "totalFrames": 10, "framesPerTask": 5, "scenario": {}, "cameras": ["front"],
        "qualityMode": "strict"});
    let assigned = json!({"taskId": "s.00000000", "workerId": "W1"});
    let reason = json!({"reason": "r"});
    let command = |word: &str| json!({"command": word});
    vec![
        act("POST /api/v1/workers/{id}/quarantine", "W2", reason.clone(), "quarantine_sim_worker"),
        act("POST /api/v1/workers/{id}/approve", "W2", reason.clone(), "approve_sim_worker"),
        act("POST /api/v1/sessions", "", session, "submit_session"),
        act("POST /api/v1/tasks/assign", "", assigned, "assign_range"),
        act("POST /api/v1/chunks/{id}/retire", "1", reason, "retire_chunk"),
        act("POST /api/v1/quarantine/{id}/confirm", "chunk-1", json!({"note": "n"}), "confirm_quarantine"),
        act("POST /api/v1/sessions/{id}/pause", "s", json!({}), "steer_session"),
        act("POST /api/v1/sessions/{id}/resume", "s", json!({}), "steer_session"),
        act("POST /api/v1/workers/broadcast", "", command("PauseAll"), "pause_all"),
        act("POST /api/v1/workers/broadcast", "", command("ResumeAll"), "resume_all"),
        act("POST /api/v1/sessions/{id}/retry", "bad", json!({}), "retry_session"),
        act("POST /api/v1/sessions/{id}/cancel", "s", json!({}), "steer_session"),
        act("DELETE /api/v1/workers/{id}", "W2", json!({}), "remove_sim_worker"),
    ]
}

/// Registers W1, which fails the only frame of a session for good, so that it can be retried; then W2.
fn enrol_workers(server: &Server) {
    let worker = FakeSimWorker::registered(server, "W1");
    // Workers get work after their first good heartbeat.
    worker.beat(0.1, "ok");
    let session = json!({"sessionId": "bad", "totalFrames": 1, "framesPerTask": 1});
    let _ = server.admin().post("/api/v1/sessions", &session).expect(201);
    for attempt in 1..=5 {
        let task = worker.task();
        assert_eq!(task["attempt"], attempt);
        worker.fail(&task);
    }
    FakeSimWorker::registered(server, "W2").beat(0.1, "ok");
}

fn of_the_pool(server: &Server, boss: &Client) -> Vec<Act> {
    let worker = FakePoolWorker::registered(&server.user("olga", &["WORKER_OWNER"]), "worker-a");
    let carl = server.user("carl", &["CLIENT"]);
    let job = carl.post("/jobs", &json!({"payload": {}})).expect(201)["id"].clone();
    let key = boss.post("/api-keys", &json!({"name": "k"})).expect(201)["id"].clone();
    let (worker, job, key) = (worker.id.to_string(), job.to_string(), key.to_string());
    let user = json!({"username": "new", "password": "a password of eight", "roles": ["VIEWER"]});
    vec![
        act("POST /workers/{id}/ban", &worker, json!({"reason": "spam"}), "ban_worker"),
        act("POST /workers/{id}/unban", &worker, json!({"reason": "forgiven"}), "unban_worker"),
        act("DELETE /jobs/{id}", &job, json!({}), "cancel_job"),
        act("POST /jobs/{id}/retry", &job, json!({}), "submit_jobs"),
        act("POST /users", "", user, "add_user"),
        act("PATCH /users/{name}", "new", json!({"active": false}), "change_user"),
        act("PATCH /users/{name}", "new", json!({"password": "another of eight"}), "change_user"),
        act("POST /api-keys", "", json!({"name": "another"}), "add_api_key"),
        act("DELETE /api-keys/{id}", &key, json!({}), "revoke_api_key"),
    ]
}
