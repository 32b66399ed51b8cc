//! Runs of contract Q over kill -9 and real time, lists, explanations, the calendar, and the RPCs with the real supabase-js:
//! Q2 to Q17.

use crate::{run, run_in};
use muster_tests::{Answer, Client, Event, FakeNode, Request, Server, now_ms, until, wait_until};
use rusqlite::Connection;
use serde_json::{Value, json};
use std::{path::Path, process::Command};

/// Q15: `timeoutMs` may not exceed the setting it is bounded by.
#[test]
fn the_longest_timeout_follows_the_setting() {
    let server = Server::with(&[("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "5")]);
    let submit = |ms: u64| server.admin().post("/api/runs", &json!({"workflow_id": "w", "timeoutMs": ms}));
    assert_eq!(submit(5000).status, 201);
    assert_eq!(submit(5001).problem(422)["field"], "timeoutMs");
}

/// Q15: under an Idempotency-Key a repeat answers as the first did, also after a kill; another body is 409.
#[test]
fn a_repeat_under_a_key_makes_no_second_run() {
    let mut server = Server::start();
    let submit = |server: &Server, key: &str, body: &Value| {
        server.admin().send(Request::new("POST", "/api/runs").header("Idempotency-Key", key).json(body))
    };
    let first = submit(&server, "order 7", &run()).expect(201);
    let _ = server.submit(&run());
    assert_eq!(submit(&server, "order 7", &run()).expect(201), first);
    server.kill9_and_restart();
    assert_eq!(submit(&server, "order 7", &run()).expect(201), first);
    let _ = submit(&server, "order 7", &run_in("other", 1)).problem(409);
    assert_ne!(submit(&server, "order 8", &run()).expect(201)["run_id"], first["run_id"]);
    assert_eq!(server.database().count("SELECT count(*) FROM tasks"), 3);
    for bad in ["", &"x".repeat(129)] {
        assert_eq!(submit(&server, bad, &run()).problem(422)["field"], "Idempotency-Key");
    }
}

/// Q15: a list says of each run what the run itself says, while it goes on and when it is over.
#[test]
fn a_list_of_runs_shows_how_far_each_is() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let first = server.submit(&run());
    let behind =
        server.submit(&json!({"workflow_id": "w", "params": {}, "scope": {"labels": {"rack": "7"}}}));
    let jobs = node.jobs(2);
    node.succeed(&jobs[0]);
    let listed = || {
        let runs = server.admin().get("/api/runs").expect(200)["runs"].take();
        for shown in runs.as_array().unwrap() {
            let alone = server.run(shown["run_id"].as_str().unwrap());
            assert_eq!((&shown["counts"], &shown["total"]), (&alone["counts"], &alone["total"]));
        }
        runs
    };
    let runs = listed();
    assert_eq!((&runs[0]["run_id"], &runs[0]["total"]), (&json!(behind), &Value::Null));
    assert_eq!((&runs[1]["run_id"], &runs[1]["total"]), (&json!(first), &json!(3)));
    let counts = |completed: u64, running: u64| json!({"pending": 0, "running": running, "completed": completed, "failed": 0, "cancelled": 0});
    assert_eq!(runs[1]["counts"], counts(1, 1));
    node.succeed(&jobs[1]);
    node.succeed(&node.job());
    for _ in 0..2 {
        let runs = listed();
        assert_eq!((&runs[1]["status"], &runs[1]["total"]), (&json!("success"), &json!(3)));
        assert_eq!(runs[1]["counts"], counts(3, 0));
    }
}

/// Q2, Q7, Q11, Q15: over a kill -9 the oldest unfinished run of each queue is active, a draining node gets no more work and ends
/// what it has, and a device that failed for good is out of service until it is returned.
#[test]
fn what_held_work_back_holds_it_back_after_a_kill() {
    let mut server = Server::start();
    let [drained, broken] = ["PC-01", "PC-02"].map(|name| FakeNode::enrolled(server.node(), name, 1));
    let on = |pc: &str, queue: &str| {
        server.submit(&json!({"workflow_id": "w", "scope": {"pcs": [pc]}, "queue": queue, "max_attempts": 1}))
    };
    let (first, second, third) = (on("PC-01", "day"), on("PC-01", "day"), on("PC-02", "night"));
    let job = drained.job();
    broken.fail(&broken.job());
    let fourth = on("PC-02", "night");
    let order = |server: &Server, word: &str| {
        server.admin().post(&format!("/api/nodes/PC-01/{word}"), &json!({})).expect(200)["draining"].clone()
    };
    assert_eq!(order(&server, "drain"), true);
    let held_back = |server: &Server| {
        let active = server.database().column("SELECT id FROM tasks WHERE status = 'running' ORDER BY seq");
        assert_eq!(active, [&*first, &*fourth]);
        assert!(drained.jobs(5).is_empty() && broken.jobs(5).is_empty());
        let _ = broken.report();
        assert_eq!(server.device("PC-02-d1")["status"], "ERROR", "being reported online does not return it");
        assert_eq!(server.why("device", "PC-02-d1"), "device_error");
    };
    held_back(&server);
    server.kill9_and_restart();
    held_back(&server);
    drained.succeed(&job);
    assert_eq!(server.why("run", &second), "node_draining");
    assert_eq!(order(&server, "resume"), false);
    drained.succeed(&drained.job());
    let back = |body: &Value| server.admin().post("/api/devices/PC-02-d1/return", body);
    let device = back(&json!({"note": "new cable"})).expect(200);
    assert_eq!((device["status"].as_str(), device["note"].as_str()), (Some("ONLINE"), Some("new cable")));
    let _ = back(&json!({})).problem(409);
    broken.succeed(&broken.job());
    let status = |run: &String| server.run(run)["status"].as_str().unwrap().to_owned();
    assert_eq!([&first, &second, &third, &fourth].map(status), ["success", "success", "failed", "success"]);
}

/// Q9: an attempt that was overdue while the server was down times out after the restart.
#[test]
fn a_timeout_survives_a_kill() {
    let mut server = Server::with(&[("MUSTER_OPERATIONS__ATTEMPT_TIMEOUT_S", "1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run_in("default", 1));
    node.tell(&Event::started("PC-01", &node.job()));
    server.kill9_and_restart();
    wait_until("it times out", || server.run(&run)["status"] == "failed");
    assert_eq!(server.rows(&run)[0]["error"], "Task device timeout: exceeded 1 second");
}

/// Q16: what ended long ago is explained from the store, also after a restart.
#[test]
fn the_past_is_explained_too() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    node.succeed(&job);
    server.kill9_and_restart();
    for (kind, id, rule) in [("run", &*run, "Q7"), ("task_device", job["task_id"].as_str().unwrap(), "Q8")] {
        let why = server.admin().get(&format!("/api/explain/{kind}/{id}")).expect(200);
        assert_eq!((why["code"].as_str(), why["rule"].as_str()), (Some("ended"), Some(rule)), "{why}");
        assert!(why["sentence"].as_str().unwrap().contains(id), "{why}");
    }
}

fn ids(answer: &Value, list: &str, id: &str) -> Vec<String> {
    answer[list].as_array().unwrap().iter().map(|item| item[id].as_str().unwrap().to_owned()).collect()
}

/// Q15: lists are paged by cursor, without a gap or a repeat, and filtered.
#[test]
fn lists_are_paged_and_filtered() {
    let server = Server::start();
    for pc in ["PC-01", "PC-02", "PC-03"] {
        let _ = FakeNode::enrolled(server.node(), pc, 4);
    }
    let mut runs: Vec<String> =
        (0..7).map(|n| server.submit(&run_in(if n == 3 { "night" } else { "day" }, 1))).collect();
    runs.reverse();
    assert_eq!(pages(&server, "/api/runs?limit=3", "runs", "run_id"), runs, "newest first");
    assert_eq!(pages(&server, "/api/devices?limit=5", "devices", "device_id").len(), 12);
    assert_eq!(pages(&server, "/api/devices?limit=3&pc_id=PC-02", "devices", "device_id").len(), 4);
    assert_eq!(pages(&server, "/api/devices?limit=3&status=OFFLINE", "devices", "device_id").len(), 0);
    assert_eq!(pages(&server, "/api/pcs?limit=1", "pcs", "pc_id"), ["PC-01", "PC-02", "PC-03"]);
    assert_eq!(pages(&server, "/api/runs?limit=1&queue=night", "runs", "run_id"), [runs[3].clone()]);
    for (target, field) in [
        ("/api/runs?limit=0", "limit"),
        ("/api/runs?limit=1001", "limit"),
        ("/api/runs?limit=1&limit=2", "limit"),
        ("/api/devices?colour=red", "colour"),
        ("/api/devices?status=WELL", "status"),
        ("/api/pcs?queue=x", "queue"),
        ("/api/alerts?limit=x", "limit"),
    ] {
        assert_eq!(server.admin().get(target).problem(422)["field"], field, "{target}");
    }
}

fn pages(server: &Server, target: &str, list: &str, id: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let page = server.admin().get(&format!("{target}{after}")).expect(200);
        found.extend(ids(&page, list, id));
        match page.get("next") {
            Some(next) => after = format!("&after={}", muster_tests::percent_encode(next.as_str().unwrap())),
            None => return found,
        }
    }
}

fn call(client: &Client, function: &str, args: &Value) -> Answer {
    client.post(&format!("/rest/v1/rpc/{function}"), args)
}

fn claim(server: &Server, args: &Value) -> Vec<Value> {
    call(&server.node(), "claim_task_devices_for_pc", args).expect(200).as_array().unwrap().clone()
}

/// Q14, N2: a row that was pulled can be ended over RPC, and one that was claimed by a callback.
#[test]
fn pulls_and_rpcs_speak_of_the_same_rows() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let job = node.job();
    let claimed = claim(&server, &json!({"runner_pc_name": "PC-01"})).remove(0);
    let _ = call(&server.node(), "complete_task_device", &json!({"p_task_device_id": job["task_id"]}))
        .expect(200);
    let as_job = json!({"task_id": claimed["id"], "run_id": claimed["task_id"], "device_id": claimed["device_id"],
        "runtime_handle": "x"});
    node.tell(&Event::succeeded("PC-01", &as_job).without_fence());
    assert_eq!(server.run(&run)["status"], "success");
}

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
    wait_until("the run is there", || runs(&server, &kept) == 1);
    let shown = schedule(&server, &kept);
    assert_eq!(shown["last_slot"], slot);
    let run = server.run(shown["last_run_id"].as_str().unwrap());
    assert!(run["created_at"].as_i64().unwrap() >= slot);
    assert_eq!(server.database().count("SELECT count(*) FROM schedules"), 1);
    assert_eq!(runs(&server, &deleted), 0);
}

/// Q14: supabase-js claims, renews, completes, fails and times rows out, and understands every refusal.
#[test]
fn supabase_js_works_unchanged() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 4);
    let params = json!({"greeting": "grüß dich"});
    let run = server.submit(&json!({"workflow_id": "w", "params": params, "max_attempts": 2}));
    let told = work_off(&server);
    let status = |key: &str| {
        let rows = server.rows(&run);
        let row = rows.iter().find(|row| row["id"] == told[key]).unwrap();
        row["status"].as_str().unwrap().to_owned()
    };
    assert_eq!(["completed", "failed", "timedOut"].map(status), ["completed", "failed", "completed"]);
    let words: Vec<String> =
        server.history(told["timedOut"].as_str().unwrap()).into_iter().map(|(_, word)| word).collect();
    let expected = ["CREATED", "SENT", "ACKED", "TIMEOUT", "RETRY_SCHEDULED", "SENT", "ACKED", "SUCCEEDED"];
    assert_eq!(words, expected);
}

fn work_off(server: &Server) -> Value {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("node");
    assert!(
        directory.join("node_modules/@supabase/supabase-js").is_dir(),
        "supabase-js is not installed: run `npm --prefix tests/node ci`"
    );
    let output = Command::new("node")
        .arg("claims.mjs")
        .current_dir(directory)
        .env("MUSTER_URL", server.anonymous().url())
        .env("MUSTER_NODE_SECRET", server.node_secret())
        .output()
        .unwrap_or_else(|error| panic!("node cannot be run ({error}): install Node.js 18 or later"));
    let (out, words) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{out}\n{words}");
    serde_json::from_str(out.trim()).unwrap()
}
