//! Sessions, ranges, simulation workers.

use crate::explain::Planted;
use muster_tests::{Client, Request, Server};
use serde_json::{Value, json};

/// A worker that exists only here, and does what it is told to.
pub(crate) struct Worker<'a> {
    id: &'a str,
    client: Client,
}

impl<'a> Worker<'a> {
    pub(crate) fn registered(server: &Server, id: &'a str) -> Self {
        let body = json!({"workerId": id, "role": "render", "capabilities": {}, "currentSession": null});
        let enroller = server.anonymous().with_token(&server.enrol_secret());
        let answer = enroller.post("/api/v1/workers/register", &body).expect(201);
        Self { id, client: server.anonymous().with_token(answer["workerToken"].as_str().unwrap()) }
    }

    pub(crate) fn beat(&self, queue_ratio: f64, status: &str) {
        let body = json!({"queueRatio": queue_ratio, "gpuUsage": 0.1, "lastFrame": 0, "status": status});
        let _ = self.client.post(&format!("/api/v1/workers/{}/heartbeat", self.id), &body).expect(200);
    }

    fn task(&self) -> Value {
        self.client.get(&format!("/api/v1/workers/{}/tasks", self.id)).expect(200)["task"].clone()
    }

    fn fail(&self, task: &Value) {
        let body = json!({"workerId": self.id, "attempt": task["attempt"], "error": "out of memory"});
        let path = format!("/api/v1/tasks/{}/fail", task["taskId"].as_str().unwrap());
        let _ = self.client.post(&path, &body).expect(200);
    }

    fn progress(&self, task: &Value) {
        let body = json!({"sessionId": task["sessionId"], "taskId": task["taskId"], "processedFrames": 1,
            "maxQueueRatio": 0.0, "droppedFrames": 0, "diagnostics": []});
        let _ = self.client.post(&format!("/api/v1/workers/{}/progress", self.id), &body).expect(200);
    }
}

pub(crate) fn plant(planted: &Planted<'_>) {
    let server = planted.server;
    submit(planted, "first");
    planted.check("session", "first", "no_sim_workers");
    let one = Worker::registered(server, "W1");
    planted.check("session", "first", "sim_workers_unheard");
    planted.check("worker", "W1", "sim_worker_unheard");
    let check = |kind: &str, id: &str, code: &'static str| {
        one.beat(0.0, "ok");
        planted.check(kind, id, code)
    };
    check("session", "first", "awaiting_sim_worker");
    assert_eq!(check("worker", "W1", "sim_worker_idle")["session_id"], "first");
    submit(planted, "second");
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
    unwell(planted, range, &one);
}

/// What becomes of it all when workers are silent, unwell or in quarantine.
fn unwell(planted: &Planted<'_>, range: &str, one: &Worker<'_>) {
    let two = Worker::registered(planted.server, "W2");
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
    planted.check("worker", one.id, "sim_worker_removed");
    planted.check("session", "first", "sim_workers_lost");
    let three = Worker::registered(planted.server, "W3");
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
    let numbered = Worker::registered(planted.server, "17");
    numbered.beat(0.0, "ok");
    planted.check("worker", "17", "no_frames");
    submit(planted, "third");
    three.beat(0.0, "ok");
    numbered.beat(0.0, "ok");
    let task = three.task();
    three.fail(&task);
    let range = task["taskId"].as_str().unwrap();
    assert_eq!(planted.check("range", range, "range_awaiting_another_worker")["worker_id"], "W3");
    operate(planted, "sessions/third/cancel", &json!({}));
}

fn submit(planted: &Planted<'_>, id: &str) {
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
