//! A node that exists only here: it pulls, claims to execute, and reports; and the six events of contract N, as it writes them.

use crate::{Answer, Client, Request, now_ms};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// A node and the devices it says are attached.
#[derive(Clone, Debug)]
pub struct FakeNode {
    /// Its name.
    pub name: String,
    /// Its devices' serials.
    pub devices: Vec<String>,
    client: Client,
}

impl FakeNode {
    /// A node with `count` devices `<name>-d1`, `<name>-d2`, …, that has said nothing yet.
    #[must_use]
    pub fn new(client: Client, name: &str, count: usize) -> Self {
        let devices = (1..=count).map(|n| format!("{name}-d{n}")).collect();
        Self { name: name.to_owned(), devices, client }
    }

    /// The same, and it has reported its devices.
    #[must_use]
    pub fn enrolled(client: Client, name: &str, count: usize) -> Self {
        let node = Self::new(client, name, count);
        let _ = node.report();
        node
    }

    /// Reports its devices and asks for nothing.
    #[must_use]
    pub fn report(&self) -> Value {
        self.ask(&json!({"node_id": self.name, "max_jobs": 0, "devices": self.listed()})).expect(200)
    }

    /// Asks for work without a report of its devices.
    #[must_use]
    pub fn pull(&self, max: u64) -> Value {
        self.ask(&json!({"node_id": self.name, "max_jobs": max})).expect(200)
    }

    /// Asks for work and waits for it.
    #[must_use]
    pub fn wait(&self, max: u64, wait_ms: u64) -> Value {
        self.ask(&json!({"node_id": self.name, "max_jobs": max, "wait_ms": wait_ms})).expect(200)
    }

    /// The jobs of a pull.
    #[must_use]
    pub fn jobs(&self, max: u64) -> Vec<Value> {
        self.pull(max)["jobs"].as_array().unwrap().clone()
    }

    /// The one job of a pull.
    ///
    /// # Panics
    /// When there is none, or more.
    #[must_use]
    pub fn job(&self) -> Value {
        let mut jobs = self.jobs(1);
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        jobs.remove(0)
    }

    /// Sends the body of a pull.
    #[must_use]
    pub fn ask(&self, body: &Value) -> Answer {
        self.client.post("/api/nodes/pull", body)
    }

    /// Sends an event that must be taken, and says the answer.
    pub fn tell(&self, event: &Event) -> Value {
        self.send(&event.nested()).expect(200)
    }

    /// Sends the body of a callback.
    #[must_use]
    pub fn send(&self, body: &Value) -> Answer {
        self.client.post("/api/nodes/callback", body)
    }

    /// Reports that a job began and ended well.
    pub fn succeed(&self, job: &Value) {
        self.tell(&Event::started(&self.name, job));
        assert_eq!(self.tell(&Event::succeeded(&self.name, job)), json!({"ok": true}));
    }

    /// Reports that a job began and failed.
    pub fn fail(&self, job: &Value) {
        self.tell(&Event::started(&self.name, job));
        assert_eq!(self.tell(&Event::failed(&self.name, job, "adb_offline")), json!({"ok": true}));
    }

    /// The request for an address to upload so many bytes to, for a job.
    #[must_use]
    pub fn upload_request(&self, job: &Value, size: usize) -> Value {
        json!({"node_id": self.name, "task_id": job["task_id"], "attempt": job["attempt"],
            "lease_token": job["lease"]["token"], "kind": "screenshot", "content_type": "image/png", "size": size})
    }

    /// Uploads a file for a job, and gives what was offered for it.
    pub fn upload(&self, job: &Value, content: &[u8]) -> Value {
        let ask = self.upload_request(job, content.len());
        let offer = self.client.post("/api/nodes/artifacts", &ask).expect(200);
        let (_, target) = offer["upload_url"].as_str().unwrap().split_once("/api/").unwrap();
        let put = Request::new("PUT", &format!("/api/{target}")).header("content-type", "image/png");
        let _ = self.client.without_token().insist(&put.bytes(content.to_vec())).expect(201);
        offer
    }

    /// Its devices as a pull lists them, all online.
    #[must_use]
    pub fn listed(&self) -> Value {
        let device =
            |id: &String| json!({"device_id": id, "runtime_handle": format!("usb:{id}"), "status": "online"});
        self.devices.iter().map(device).collect()
    }

    /// Client with which it calls the server.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.client
    }
}

/// An event in the making; its fields can be changed before it is sent.
#[derive(Clone, Debug)]
pub struct Event {
    /// Id of the event, beside `payload`.
    pub id: String,
    /// Which of the six.
    pub kind: &'static str,
    /// Its fields.
    pub payload: Value,
}

impl Event {
    /// `node_heartbeat`.
    #[must_use]
    pub fn heartbeat(node: &str) -> Self {
        let counts = json!({"connected_devices_count": 3, "running_devices_count": 2, "queue_devices_count": 1,
            "vendor_ws_ok": true});
        Self::new("node_heartbeat", node, counts)
    }

    /// `run_started`.
    #[must_use]
    pub fn run_started(node: &str, run: &str) -> Self {
        let fields = json!({"run_id": run, "target_devices_count": 1, "max_concurrency": 20});
        Self::new("run_started", node, fields)
    }

    /// `run_finished` with so many succeeded and failed.
    #[must_use]
    pub fn run_finished(node: &str, run: &str, succeeded: u64, failed: u64) -> Self {
        let summary = json!({"succeeded": succeeded, "failed": failed, "timeout": 0});
        Self::new("run_finished", node, json!({"run_id": run, "summary": summary}))
    }

    /// `task_started` for a job as the pull gave it.
    #[must_use]
    pub fn started(node: &str, job: &Value) -> Self {
        let fields = json!({"runtime_handle": job["runtime_handle"], "workflow_id": job["workflow_id"],
            "timeoutMs": job["timeoutMs"]});
        Self::of_job("task_started", node, job, fields)
    }

    /// `task_progress`.
    #[must_use]
    pub fn progress(node: &str, job: &Value, step: &str) -> Self {
        Self::of_job("task_progress", node, job, json!({"step": step, "status": "running"}))
    }

    /// `task_finished`, well.
    #[must_use]
    pub fn succeeded(node: &str, job: &Value) -> Self {
        let artifact = json!({"kind": "screenshot", "storage_path": "videos/_/x.png",
            "public_url": "http://127.0.0.1/x.png"});
        Self::finished(node, job, json!({"status": "succeeded", "artifact": artifact}))
    }

    /// `task_finished`, badly.
    #[must_use]
    pub fn failed(node: &str, job: &Value, reason: &str) -> Self {
        let told = json!({"status": "failed", "failure_reason": reason, "error_message": "it did not work"});
        Self::finished(node, job, told)
    }

    /// The same without the fence, as nodes that know none send it.
    #[must_use]
    pub fn without_fence(self) -> Self {
        self.unset("attempt").unset("lease_token")
    }

    /// The same with a field set.
    #[must_use]
    pub fn set(mut self, field: &str, value: Value) -> Self {
        self.payload[field] = value;
        self
    }

    /// The same without a field.
    #[must_use]
    pub fn unset(mut self, field: &str) -> Self {
        if let Some(payload) = self.payload.as_object_mut() {
            payload.remove(field);
        }
        self
    }

    /// The body with the fields inside `payload`.
    #[must_use]
    pub fn nested(&self) -> Value {
        json!({"event_id": self.id, "type": self.kind, "payload": self.payload})
    }

    /// The body with the fields beside `type`.
    #[must_use]
    pub fn flat(&self) -> Value {
        let mut body = self.payload.clone();
        body["event_id"] = json!(self.id);
        body["type"] = json!(self.kind);
        body
    }

    fn finished(node: &str, job: &Value, told: Value) -> Self {
        let now = now_ms();
        let fields = merge(
            told,
            json!({"runtime_handle": job["runtime_handle"],
            "timings": {"startedAt": now, "endedAt": now + 1}}),
        );
        Self::of_job("task_finished", node, job, fields)
    }

    fn of_job(kind: &'static str, node: &str, job: &Value, fields: Value) -> Self {
        let names = json!({"run_id": job["run_id"], "task_id": job["task_id"], "device_id": job["device_id"],
            "attempt": job["attempt"], "lease_token": job["lease"]["token"]});
        Self::new(kind, node, merge(names, fields))
    }

    fn new(kind: &'static str, node: &str, fields: Value) -> Self {
        let n = COUNTER.fetch_add(1, Ordering::Relaxed);
        let payload = merge(json!({"node_id": node, "timestamp": now_ms()}), fields);
        Self { id: format!("{node}:{kind}:{}:{n}", std::process::id()), kind, payload }
    }
}

fn merge(mut into: Value, from: Value) -> Value {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
    into
}

/// Every reason a failed task may have (N13).
pub const FAILURE_REASONS: [&str; 13] = [
    "needs_usb_authorization",
    "adb_offline",
    "adb_missing",
    "vendor_ws_error",
    "vendor_command_error",
    "bootstrap_critical_failed",
    "login_flow_timeout",
    "screenshot_error",
    "upload_error",
    "callback_error",
    "emulator_not_online",
    "emulator_not_booted",
    "unknown",
];

static COUNTER: AtomicU64 = AtomicU64::new(0);
