//! `muster explain` names the cause that was planted, for every kind of object (Q16).

use muster_tests::{
    Client, Court, Event, FakeNode, FakePoolWorker, FakeSimWorker, Request, Server, muster_command, run,
    until,
};
use serde_json::{Value, json};
use std::{cell::RefCell, collections::BTreeSet};

/// Causes that are planted one after the other, and what `muster explain` says of them.
struct Planted<'a> {
    server: &'a Server,
    cases: RefCell<Vec<(&'static str, bool)>>,
}

impl Planted<'_> {
    /// Asks about an object, in whose way a cause was put just now; gives the answer's data.
    fn check(&self, kind: &str, id: &str, code: &'static str) -> Value {
        let why = self.ask(kind, id);
        assert_eq!(why["kind"], kind);
        self.note(&why, id, code)
    }

    /// As [`Self::check`], for a cause that comes with time.
    fn wait(&self, kind: &str, id: &str, code: &'static str) -> Value {
        let why = until(&format!("{kind} {id} is {code}"), || {
            Some(self.ask(kind, id)).filter(|why| why["code"] == code)
        });
        assert_eq!(why["kind"], kind);
        self.note(&why, id, code)
    }

    fn note(&self, why: &Value, id: &str, code: &'static str) -> Value {
        let is_named = why["code"] == code;
        if !is_named {
            eprintln!("{id} should be {code}, not {why}");
        }
        let sentence = why["sentence"].as_str().unwrap();
        assert_eq!(why["id"], id);
        assert!(sentence.contains(id) && !sentence.contains(['{', '[']), "{why}");
        self.cases.borrow_mut().push((code, is_named));
        why["data"].clone()
    }

    fn ask(&self, kind: &str, id: &str) -> Value {
        self.server.muster(&["explain", kind, id, "--json"]).json()
    }
}

/// Q16: of at least thirty causes, each planted and asked about with the real command, every one is named.
#[test]
fn every_planted_cause_is_named() {
    // The king waits for the chamberlain's first report, and then for nothing: this machine may be busy.
    let limits = "yellow_percent = 101\norange_percent = 102\nred_percent = 103";
    let mut court = Court::as_shipped().section("king", "obey_health = true").section("chamberlain", limits);
    let home = court.home();
    let settings = [
        ("MUSTER_NODES__OFFLINE_AFTER_S", "15"),
        ("MUSTER_POOL__OFFLINE_AFTER_S", "15"),
        ("MUSTER_SIMULATION__HEARTBEAT_MS", "5000"),
        ("MUSTER_NODES__DROPOUT_PAUSE_S", "60"),
        ("MUSTER_COURT__DIRECTORY", home.to_str().unwrap()),
    ];
    let server = Server::with(&settings);
    let planted = Planted { server: &server, cases: RefCell::default() };
    plant_devices(&planted);
    plant_frames(&planted);
    plant_pool(&planted);
    plant_court(&planted, &mut court);
    let cases = planted.cases.into_inner();
    let codes: BTreeSet<&str> = cases.iter().map(|(code, _)| *code).collect();
    let wrong: BTreeSet<&str> = cases.iter().filter(|(_, named)| !named).map(|(code, _)| *code).collect();
    println!("{} of {}", codes.len() - wrong.len(), codes.len());
    assert!(wrong.is_empty() && codes.len() >= 30, "not named: {wrong:?}");
}

fn plant_devices(planted: &Planted<'_>) {
    let server = planted.server;
    let admin = server.admin();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let silent = FakeNode::enrolled(server.node(), "PC-02", 1);
    let check = |kind: &str, id: &str, code: &'static str| {
        let _ = node.report();
        planted.check(kind, id, code)
    };
    check("node", "PC-01", "no_work");
    let one = server.submit(&scoped(&json!({"pcs": ["PC-01"]}), "default"));
    let two = server.submit(&scoped(&json!({"pcs": ["PC-01"]}), "default"));
    assert_eq!(check("run", &two, "queued_behind")["run_id"], *one);
    assert_eq!(check("run", &one, "awaiting_pull")["node_id"], "PC-01");
    let _ = silent.report();
    check("device", "PC-02-d1", "out_of_scope");
    let three = server.submit(&scoped(&json!({"pcs": ["PC-02"]}), "default"));
    assert_eq!(check("node", "PC-02", "work_queued_behind")["run_id"], *three);
    server.cancel(&three);
    let _ = admin.post("/api/nodes/PC-01/drain", &json!({})).expect(200);
    check("run", &one, "node_draining");
    let _ = admin.post("/api/nodes/PC-01/resume", &json!({})).expect(200);
    let _ = admin.patch("/api/pcs/PC-01", &json!({"max_devices": 1})).expect(200);
    let job = node.job();
    let task = job["task_id"].as_str().unwrap();
    check("task_device", task, "awaiting_redelivery");
    node.tell(&Event::started("PC-01", &job));
    check("task_device", task, "running");
    check("device", "PC-01-d2", "no_slot");
    let device = job["device_id"].as_str().unwrap();
    let other = server.submit(&scoped(&json!({"devices": [device]}), "b"));
    assert_eq!(check("run", &other, "lane_busy")["task_device_id"], task);
    server.cancel(&other);
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    check("task_device", task, "awaiting_retry");
    node.succeed(&node.job());
    check("device", "PC-01-d2", "already_served");
    node.succeed(&node.job());
    check("run", &one, "ended");
    let job = node.job();
    node.tell(&Event::started("PC-01", &job));
    server.cancel(&two);
    check("task_device", job["task_id"].as_str().unwrap(), "stopping");
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    let nowhere = server.submit(&scoped(&json!({"devices": ["nobody"]}), "c"));
    check("run", &nowhere, "waiting_for_devices");
    server.cancel(&nowhere);
    break_device(planted, &node);
    let _ = admin.patch("/api/pcs/PC-01", &json!({"max_devices": 20})).expect(200);
    drop_out(planted);
    planted.wait("node", "PC-02", "node_offline");
    let schedule = json!({"cron": "0 0 29 2 *", "timezone": "UTC", "missed": "skip", "run": {"workflow_id": "w", "params": {}}});
    let made = admin.post("/api/schedules", &schedule).expect(201);
    check("schedule", made["schedule_id"].as_str().unwrap(), "schedule_waiting");
}

fn break_device(planted: &Planted<'_>, node: &FakeNode) {
    let run = planted.server.submit(
        &json!({"workflow_id": "w", "params": {}, "scope": {"pcs": ["PC-01"]}, "queue": "d", "max_attempts": 1}),
    );
    let job = node.job();
    node.fail(&job);
    planted.check("device", job["device_id"].as_str().unwrap(), "device_error");
    planted.server.cancel(&run);
}

/// A hub of ten devices is unplugged, and one more was missing before.
fn drop_out(planted: &Planted<'_>) {
    let node = FakeNode::enrolled(planted.server.node(), "PC-03", 12);
    let left = json!([node.listed()[0].clone()]);
    let _ = node.ask(&json!({"node_id": "PC-03", "max_jobs": 0, "devices": left})).expect(200);
    planted.check("device", "PC-03-d3", "device_offline");
    planted.check("node", "PC-03", "supply_paused");
}

fn scoped(scope: &Value, queue: &str) -> Value {
    json!({"workflow_id": "w", "params": {}, "scope": scope, "queue": queue})
}

fn plant_frames(planted: &Planted<'_>) {
    let server = planted.server;
    submit_session(planted, "first");
    planted.check("session", "first", "no_sim_workers");
    let one = FakeSimWorker::registered(server, "W1");
    planted.check("session", "first", "sim_workers_unheard");
    planted.check("worker", "W1", "sim_worker_unheard");
    let check = |kind: &str, id: &str, code: &'static str| {
        one.beat(0.0, "ok");
        planted.check(kind, id, code)
    };
    check("session", "first", "awaiting_sim_worker");
    assert_eq!(check("worker", "W1", "sim_worker_idle")["session_id"], "first");
    submit_session(planted, "second");
    assert_eq!(check("session", "second", "session_queued_behind")["session_id"], "first");
    operate(planted, "sessions/second/pause", &json!({}));
    check("session", "second", "session_paused");
    operate(planted, "workers/broadcast", &json!({"command": "PauseAll"}));
    check("worker", "W1", "farm_paused");
    operate(planted, "workers/broadcast", &json!({"command": "ResumeAll"}));
    let task = one.task();
    let range = task["taskId"].as_str().unwrap();
    assert_eq!(check("range", range, "range_unconfirmed")["worker_id"], "W1");
    one.progress(&task);
    check("range", range, "range_running");
    check("session", "first", "session_running");
    check("worker", "W1", "sim_worker_running");
    operate(planted, "sessions/second/resume", &json!({}));
    operate(planted, "sessions/first/pause", &json!({}));
    check("session", "second", "sim_workers_busy");
    operate(planted, "sessions/first/resume", &json!({}));
    unwell(planted, range);
}

/// Checks the explanations for workers that are silent, degraded or in quarantine.
fn unwell(planted: &Planted<'_>, range: &str) {
    let two = FakeSimWorker::registered(planted.server, "W2");
    // Until its first good heartbeat, that alone is the cause.
    two.beat(0.0, "ok");
    two.beat(0.0, "error");
    let why = planted.check("worker", "W2", "sim_worker_degraded");
    assert_eq!(why["reason"], "it reports an error");
    operate(planted, "workers/W1/quarantine", &json!({"reason": "odd"}));
    let why = planted.check("worker", "W1", "sim_worker_quarantined");
    assert_eq!(why["reason"], "by an operator: odd");
    two.beat(0.0, "ok");
    planted.check("range", range, "range_awaiting_replay");
    two.beat(1.0, "ok");
    planted.check("worker", "W2", "sim_worker_queue_full");
    two.beat(1.0, "ok");
    planted.check("session", "first", "sim_workers_degraded");
    planted.wait("worker", "W2", "sim_worker_lost");
    planted.check("session", "first", "no_capable_worker");
    remove(planted, "W1");
    planted.check("worker", "W1", "sim_worker_removed");
    planted.check("session", "first", "sim_workers_lost");
    let three = FakeSimWorker::registered(planted.server, "W3");
    operate(planted, "workers/W3/quarantine", &json!({"reason": "odd"}));
    remove(planted, "W2");
    planted.check("session", "first", "sim_workers_quarantined");
    for session in ["first", "second"] {
        operate(planted, &format!("sessions/{session}/cancel"), &json!({}));
    }
    planted.check("session", "first", "session_ended");
    planted.check("range", range, "range_ended");
    operate(planted, "workers/W3/approve", &json!({"reason": "mended"}));
    three.beat(0.0, "ok");
    planted.check("worker", "W3", "no_frames");
    // A number may be a name.
    let numbered = FakeSimWorker::registered(planted.server, "17");
    numbered.beat(0.0, "ok");
    planted.check("worker", "17", "no_frames");
    submit_session(planted, "third");
    three.beat(0.0, "ok");
    numbered.beat(0.0, "ok");
    let task = three.task();
    three.fail(&task);
    let range = task["taskId"].as_str().unwrap();
    assert_eq!(planted.check("range", range, "range_awaiting_another_worker")["worker_id"], "W3");
    operate(planted, "sessions/third/cancel", &json!({}));
}

fn submit_session(planted: &Planted<'_>, id: &str) {
    let body = json!({"sessionId": id, "totalFrames": 20, "framesPerTask": 10, "scenario": {}, "cameras": ["front"],
        "qualityMode": "relaxed"});
    let _ = planted.server.admin().post("/api/v1/sessions", &body).expect(201);
}

fn operate(planted: &Planted<'_>, path: &str, body: &Value) {
    let answer = planted.server.admin().post(&format!("/api/v1/{path}"), body);
    assert!(answer.is_success(), "{path}: {}", answer.text());
}

fn remove(planted: &Planted<'_>, worker: &str) {
    let answer = planted.server.admin().send(Request::new("DELETE", &format!("/api/v1/workers/{worker}")));
    assert!(answer.is_success(), "{}", answer.text());
}

fn plant_pool(planted: &Planted<'_>) {
    let server = planted.server;
    let (carl, cora) = (server.user("carl", &["CLIENT"]), server.user("cora", &["CLIENT"]));
    let olga = server.user("olga", &["WORKER_OWNER"]);
    let far = hand_in(&carl, &json!({"payload": {}, "region": "mars"}));
    planted.check("job", &far, "no_workers");
    let worker = FakePoolWorker::with(&olga, "w-eu", &json!({"region": "eu"}));
    let id = worker.id.to_string();
    let check = |kind: &str, id: &str, code: &'static str| {
        worker.beat();
        planted.check(kind, id, code)
    };
    check("job", &far, "no_worker_in_region");
    check("worker", &id, "no_matching_job");
    cancel_job(planted, &far);
    check("worker", &id, "no_jobs");
    both(planted, &id);
    let rich = hand_in(&carl, &json!({"payload": {}, "requires": {"vram": 99}}));
    check("job", &rich, "requirements_unmet");
    let urgent = hand_in(&carl, &json!({"payload": {}, "priority": 9}));
    let plain = hand_in(&carl, &json!({"payload": {}}));
    assert_eq!(check("job", &plain, "higher_priority_first")["job_id"], *urgent);
    check("job", &urgent, "waiting_for_poll");
    assert_eq!(check("worker", &id, "pool_worker_idle")["job_id"], *urgent);
    let _ = worker.work_off(&json!({"ok": true}));
    check("job", &urgent, "job_ended");
    let later = hand_in(&carl, &json!({"payload": {}}));
    let others = hand_in(&cora, &json!({"payload": {}}));
    let _ = worker.work_off(&json!({"ok": true}));
    let last = hand_in(&cora, &json!({"payload": {}}));
    check("job", &last, "older_job_first");
    check("job", &later, "clients_turn");
    cancel_job(planted, &last);
    let _ = worker.poll();
    check("job", &others, "job_running");
    check("job", &later, "workers_busy");
    check("worker", &id, "pool_worker_full");
    let twice = hand_in(&cora, &json!({"payload": {}, "redundancy": 3}));
    let spare = FakePoolWorker::with(&olga, "w-spare", &json!({}));
    spare.beat();
    cancel_job(planted, &later);
    let _ = spare.poll();
    check("job", &twice, "too_few_owners");
    gone(planted, &worker, &spare, &others);
}

/// A simulation worker that is called by the number of one of the pool can be asked about, and so can that one.
fn both(planted: &Planted<'_>, id: &str) {
    let sim = FakeSimWorker::registered(planted.server, id);
    let code = |kind: &str| planted.ask(kind, id)["code"].clone();
    sim.beat(0.0, "ok");
    let codes = ["worker", "pool_worker", "sim_worker"].map(code);
    assert_eq!(codes, ["no_jobs", "no_jobs", "no_frames"]);
}

/// Workers that drain, are banned or fall silent with a job in their hands.
fn gone(planted: &Planted<'_>, worker: &FakePoolWorker, spare: &FakePoolWorker, held: &str) {
    let admin = planted.server.admin();
    let id = worker.id.to_string();
    worker.beat();
    let _ = worker.owner().post(&format!("/workers/{id}/drain"), &json!({})).expect(200);
    planted.check("worker", &id, "pool_worker_draining");
    let ban = admin.post(&format!("/workers/{}/ban", spare.id), &json!({"reason": "it lied"}));
    assert!(ban.is_success(), "{}", ban.text());
    let why = planted.check("worker", &spare.id.to_string(), "pool_worker_banned");
    assert_eq!(why["reason"], "it lied");
    planted.wait("worker", &id, "pool_worker_offline");
    assert_eq!(planted.check("job", held, "lease_out")["worker_id"], *id);
}

fn hand_in(client: &Client, job: &Value) -> String {
    client.post("/jobs", job).expect(201)["id"].to_string()
}

fn cancel_job(planted: &Planted<'_>, job: &str) {
    let request = Request::new("DELETE", &format!("/jobs/{job}"));
    let answer = planted.server.admin().send(request);
    assert!(answer.is_success(), "{}", answer.text());
}

fn plant_court(planted: &Planted<'_>, court: &mut Court) {
    let event = court.emit(&json!({"type": "greet.hello", "source": "me", "payload": {"ask": true}}));
    planted.check("court_task", &event, "court_no_king");
    court.start(&["king"]);
    planted.check("court_task", &event, "court_host_unwatched");
    court.start(&["chamberlain"]);
    let task = dispatched(court, &event);
    planted.check("court_task", &task, "court_general_stopped");
    let nobodys = json!({"id": "task-20260101-900", "event_id": "e", "target_general": "nobody", "type": "a.b", "payload": {},
        "priority": "normal", "created_at": "2026-01-01T10:00:00Z", "status": "pending"});
    court.hand_in("queue/tasks/pending", "task-20260101-900.json", nobodys.to_string().as_bytes());
    planted.check("court_task", "task-20260101-900", "court_no_general");
    let unwanted = court.emit(&json!({"type": "nobody.cares", "source": "me", "payload": {}}));
    planted.wait("court_task", &unwanted, "court_event_over");
    court.start(&["general", "greet"]);
    planted.wait("court_task", &task, "court_question_open");
    offline(court, &task);
    let path = format!("/api/court/tasks/{task}/reply");
    let answer = planted.server.admin().post(&path, &json!({"text": "Ada"})).expect(202);
    let resumed = court.finished(answer["event_id"].as_str().unwrap());
    assert_eq!(planted.wait("court_task", &task, "court_question_answered")["court_task_id"], resumed["id"]);
    planted.check("court_task", resumed["id"].as_str().unwrap(), "court_task_completed");
}

fn dispatched(court: &Court, event: &str) -> String {
    until("the event is made a task", || {
        let event = court.file("queue/events/dispatched", event)?;
        let task = event["dispatch"]["task_id"].as_str()?.to_owned();
        court.file("queue/tasks/pending", &task).map(|_| task)
    })
}

/// The files tell as much without a server.
fn offline(court: &Court, task: &str) {
    let home = court.home();
    let mut command = muster_command();
    command.args(["explain", "court_task", task, "--json", "--court"]).arg(home);
    for why in [run(&mut command).json(), court.output(&["explain", task, "--json"]).json()] {
        assert_eq!((&why["code"], &why["rule"]), (&json!("court_question_open"), &json!("C14")), "{why}");
    }
    assert_eq!(court.output(&["explain", "task-20200101-001"]).code, 5);
}
