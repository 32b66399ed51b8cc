//! A backend that speaks just enough of contract N, and is no Muster: it hands out any job and answers as it is told.

use muster_tests::{Reply, StandIn, Visit, until};
use serde_json::{Value, json};
use std::{
    sync::{
        Arc, Condvar, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

/// A backend on a port of its own; gone with the value.
pub(crate) struct Backend {
    stand_in: StandIn,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    offered: Mutex<Offered>,
    news: Condvar,
    heard: Mutex<Vec<Heard>>,
    rules: Mutex<Vec<Rule>>,
    is_over: AtomicBool,
}

/// What the next pull is answered.
#[derive(Default)]
struct Offered {
    jobs: Vec<Value>,
    stop: Vec<String>,
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
        self.shared.offered.lock().unwrap().jobs.push(job);
        self.shared.news.notify_all();
    }

    /// How many jobs nobody has asked for yet.
    pub(crate) fn left(&self) -> usize {
        self.shared.offered.lock().unwrap().jobs.len()
    }

    /// Names a task that is wanted no more with the next pull.
    pub(crate) fn stop(&self, task: &str) {
        self.shared.offered.lock().unwrap().stop.push(task.to_owned());
        self.shared.news.notify_all();
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
        let is_idle = |offered: &mut Offered| {
            let has_nothing = offered.stop.is_empty() && (offered.jobs.is_empty() || most == 0);
            has_nothing && !self.is_over.load(Ordering::SeqCst)
        };
        let offered = self.offered.lock().unwrap();
        let (mut offered, _) = self.news.wait_timeout_while(offered, wait, is_idle).unwrap();
        let most = most.min(offered.jobs.len());
        let jobs: Vec<Value> = offered.jobs.drain(..most).collect();
        let stop = std::mem::take(&mut offered.stop);
        json!({"now": 0, "runs": [], "jobs": jobs, "finished_runs": [], "stop": stop})
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
