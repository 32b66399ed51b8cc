//! `muster agent`, as a PC runs it: the real binary against the real server, and against a backend that is no Muster.

mod endings;
mod hardware;
mod outage;
mod process;

mod workflows;

use muster_tests::{Agent, Reply, Server, StandIn, Visit, until, wait_until};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// The workflow that ships with the agent.
const SHIPPED: &str = "login_settings_screenshot_v1";

/// Waits until a server knows so many idle devices of a node.
fn enrolled(server: &Server, node: &str, count: u64) {
    wait_until(&format!("{count} devices of {node}"), || {
        let answer = server.admin().get(&format!("/api/pcs/{node}"));
        answer.status == 200 && answer.json()["idle_count"] == count
    });
}

/// Submits a run of a workflow with parameters.
fn submit(server: &Server, workflow: &str, params: Value) -> String {
    server.submit(&json!({"workflow_id": workflow, "params": params}))
}

/// Waits until a run has ended, and gives it.
fn ended(server: &Server, run: &str) -> Value {
    until("the end of the run", || {
        let run = server.run(run);
        (!run["completed_at"].is_null()).then_some(run)
    })
}

/// Number of completed and of failed rows of a run.
fn counts(run: &Value) -> (u64, u64) {
    (run["counts"]["completed"].as_u64().unwrap(), run["counts"]["failed"].as_u64().unwrap())
}

/// Events that a server recorded for a row, in order: `task_started`, `PREFLIGHT running`, …
fn told(server: &Server, row: &str) -> Vec<String> {
    let sql = format!("SELECT body FROM node_events WHERE task_id = '{row}' ORDER BY id");
    let bodies = server.database().column(&sql);
    bodies.iter().map(|body| shown(&serde_json::from_str(body).unwrap())).collect()
}

/// Every event of a type that a server entered, in order.
fn entered(server: &Server, kind: &str) -> Vec<Value> {
    let sql = format!("SELECT body FROM node_events WHERE type = '{kind}' ORDER BY id");
    let bodies = server.database().column(&sql);
    bodies.iter().map(|body| serde_json::from_str(body).unwrap()).collect()
}

/// An event's own fields: a server may keep them beside `type`.
fn fields(event: &Value) -> &Value {
    if event["payload"].is_object() { &event["payload"] } else { event }
}

/// An event in a few words.
fn shown(event: &Value) -> String {
    let payload = fields(event);
    let word = |key: &str| payload[key].as_str().unwrap_or_default().to_owned();
    match event["type"].as_str().unwrap() {
        "task_progress" => format!("{} {}", word("step"), word("status")),
        "task_finished" => format!("task_finished {}", word("status")),
        other => other.to_owned(),
    }
}

/// Number of occurrences of a text in the newest segment of an agent's spool: written there it survives any crash.
fn on_disk(agent: &Agent, text: &str) -> usize {
    let bytes = fs::read(newest_segment(&agent.spool())).unwrap();
    String::from_utf8_lossy(&bytes).matches(text).count()
}

fn newest_segment(spool: &Path) -> PathBuf {
    let names = fs::read_dir(spool).unwrap().map(|entry| entry.unwrap().path());
    let is_segment = |path: &PathBuf| path.file_name().unwrap().to_str().unwrap().starts_with("segment-");
    names.filter(is_segment).max().unwrap()
}

/// A backend on a port of its own; gone with the value.
pub(crate) struct Backend {
    stand_in: StandIn,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Jobs for the next pull.
    offered: Mutex<Vec<Value>>,
    news: Condvar,
    heard: Mutex<Vec<Heard>>,
    rules: Mutex<Vec<Rule>>,
    is_over: AtomicBool,
}

/// A request and what it was answered.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) path: String,
    pub(crate) body: Value,
    pub(crate) status: u16,
}

/// Answers a request, if it is one that it is about.
type Rule = Box<dyn FnMut(&str, &Value) -> Option<(u16, Value)> + Send>;

impl Backend {
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared::default());
        let answering = Arc::clone(&shared);
        Self { stand_in: StandIn::start(move |visit| answering.answer(visit)), shared }
    }

    pub(crate) fn url(&self) -> String {
        self.stand_in.url()
    }

    /// Hands out a job with the next pull.
    pub(crate) fn offer(&self, job: Value) {
        self.shared.offered.lock().unwrap().push(job);
        self.shared.news.notify_all();
    }

    /// Number of jobs that no pull has fetched yet.
    pub(crate) fn left(&self) -> usize {
        self.shared.offered.lock().unwrap().len()
    }

    /// Answers from now on what a rule says, where it says something; the newest rule counts first.
    pub(crate) fn rule(&self, rule: impl FnMut(&str, &Value) -> Option<(u16, Value)> + Send + 'static) {
        self.shared.rules.lock().unwrap().insert(0, Box::new(rule));
    }

    /// Everything that was asked at a path, in order.
    pub(crate) fn heard(&self, path: &str) -> Vec<Heard> {
        self.shared.heard.lock().unwrap().iter().filter(|heard| heard.path == path).cloned().collect()
    }

    /// The events that were taken, heartbeats aside, in order.
    pub(crate) fn events(&self) -> Vec<Value> {
        let taken = self.heard(CALLBACK).into_iter().filter(|heard| heard.status == 200);
        taken.map(|heard| heard.body).filter(|event| event["type"] != "node_heartbeat").collect()
    }

    /// The events of one task that were taken, in order.
    pub(crate) fn events_of(&self, task: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["payload"]["task_id"] == task).collect()
    }

    /// Waits for the end of a task and gives what was told of it.
    pub(crate) fn finished(&self, task: &str) -> Value {
        until(&format!("the end of {task}"), || {
            self.events_of(task).into_iter().find(|event| event["type"] == "task_finished")
        })["payload"]
            .clone()
    }
}

impl Drop for Backend {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::SeqCst);
        self.shared.news.notify_all();
    }
}

impl Shared {
    fn answer(&self, visit: &Visit) -> Reply {
        let (path, body) = (visit.target.clone(), visit.json());
        let ruled = self.rules.lock().unwrap().iter_mut().find_map(|rule| rule(&path, &body));
        let (status, answer) = ruled.unwrap_or_else(|| match path.as_str() {
            PULL => (200, self.pull(&body)),
            CALLBACK => (200, json!({"ok": true})),
            _ => (404, json!({"title": "Not Found", "detail": "nothing is here"})),
        });
        self.heard.lock().unwrap().push(Heard { path, body, status });
        if status == NO_ANSWER { Reply::hang_up() } else { Reply::json(status, &answer) }
    }

    fn pull(&self, body: &Value) -> Value {
        let wait = Duration::from_millis(body["wait_ms"].as_u64().unwrap_or(0));
        let most = usize::try_from(body["max_jobs"].as_u64().unwrap()).unwrap();
        let is_idle = |offered: &mut Vec<Value>| {
            (offered.is_empty() || most == 0) && !self.is_over.load(Ordering::SeqCst)
        };
        let offered = self.offered.lock().unwrap();
        let (mut offered, _) = self.news.wait_timeout_while(offered, wait, is_idle).unwrap();
        let most = most.min(offered.len());
        let jobs: Vec<Value> = offered.drain(..most).collect();
        json!({"now": 0, "runs": [], "jobs": jobs, "finished_runs": [], "stop": []})
    }
}

/// A job as a pull hands it out.
pub(crate) fn job(task: &str, device: &str, workflow: &str) -> Value {
    json!({"task_id": task, "run_id": "run-1", "device_id": device, "runtime_handle": device,
        "workflow_id": workflow, "params": {}, "timeoutMs": 60_000, "attempt": 1,
        "lease": {"token": format!("{task}-token"), "until": 0}})
}

/// The status of a request whose connection ends without an answer.
pub(crate) const NO_ANSWER: u16 = 0;
pub(crate) const CALLBACK: &str = "/api/nodes/callback";
pub(crate) const PULL: &str = "/api/nodes/pull";
