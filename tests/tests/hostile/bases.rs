//! A valid body for each route, about things that do not exist.

use crate::{Route, values};
use muster_tests::{Event, Request};
use serde_json::{Value, json};

/// A key that was used, for another body: whatever else is right with a run, it is refused.
pub(crate) const USED_KEY: &str = "used";

/// A body to be spoilt.
pub(crate) struct Base {
    /// Valid but for what it is about.
    pub(crate) body: Value,
    /// Texts that would be valid in their place, and have an effect.
    spared: &'static [(&'static str, &'static [&'static str])],
}

impl Base {
    /// The request with a body in its place.
    pub(crate) fn request(&self, route: &Route, body: Vec<u8>) -> Request {
        let path = route.path.replace("{id}", "nobody").replace("{path}", "nobody");
        Request::new(&route.method, &path).header("Idempotency-Key", USED_KEY).bytes(body)
    }

    /// Whether a value would be valid there, and have an effect.
    pub(crate) fn may_be(&self, pointer: &str, value: &str) -> bool {
        let enrols = pointer.ends_with("/node_id") && values::NAMES.contains(&value);
        enrols || self.spared.iter().any(|(place, values)| *place == pointer && values.contains(&value))
    }
}

/// The bodies of a route; `None` where it takes none.
pub(crate) fn of(method: &str, path: &str, run: &str) -> Option<Vec<Base>> {
    let base = |body| Base { body, spared: &[] };
    let one = |body| Some(vec![base(body)]);
    match (method, path) {
        ("POST", "/api/runs") => {
            one(json!({"workflow_id": "w", "params": {"a": 1}, "scope": {"labels": {"a": "b"}},
            "queue": "q", "timeoutMs": 1000, "max_attempts": 2, "title": "t"}))
        }
        ("PATCH", "/api/devices/{id}") => one(json!({"labels": {"rack": "7"}})),
        ("POST", "/api/devices/{id}/return") => one(json!({"note": "n"})),
        ("PATCH", "/api/pcs/{id}") => one(json!({"max_devices": 3})),
        ("POST", "/api/nodes/pull") => Some(vec![pull()]),
        ("POST", "/api/nodes/artifacts") => {
            one(json!({"node_id": "PC-01", "task_id": "x", "attempt": 1, "lease_token": "0".repeat(32),
            "kind": "screenshot", "content_type": "image/png", "size": 5, "sha256": "0".repeat(64), "name": "n",
            "storage_path": "a/{kind}.{ext}"}))
        }
        ("PUT", "/api/uploads/{path}") => one(json!({})),
        ("POST", "/api/nodes/callback") => Some(events(run).into_iter().map(base).collect()),
        ("POST", "/rest/v1/rpc/claim_task_devices_for_pc") => {
            one(json!({"runner_pc_name": "nobody", "max_to_claim": 1, "lease_minutes": 5}))
        }
        ("POST", "/rest/v1/rpc/renew_task_device_lease") => {
            one(json!({"task_device_id": "x", "runner_pc_id": "nobody", "lease_minutes": 5}))
        }
        ("POST", "/rest/v1/rpc/complete_task_device") => {
            one(json!({"p_task_device_id": "x", "p_result": {"a": 1}, "runner_pc_id": "nobody"}))
        }
        ("POST", "/rest/v1/rpc/fail_or_retry_task_device") => {
            one(json!({"p_task_device_id": "x", "p_error": "e", "runner_pc_id": "nobody"}))
        }
        ("POST", "/rest/v1/rpc/fn_timeout_tasks_and_task_devices") => one(json!({})),
        _ => None,
    }
}

/// Refused in any case, because a device stands there more than once; without a list it would be a mere report.
fn pull() -> Base {
    let again = json!({"device_id": "again", "runtime_handle": "h", "status": "online"});
    let devices = json!([again, again, again]);
    Base {
        body: json!({"node_id": "PC-01", "max_jobs": 1, "wait_ms": 0, "devices": devices}),
        spared: &[("/devices", &["null", "[]"])],
    }
}

/// The events that are kept, nested and flat, about a run that exists and tasks that do not.
fn events(run: &str) -> Vec<Value> {
    let job = json!({"task_id": "x", "run_id": "y", "device_id": "PC-01-d1", "runtime_handle": "h",
        "workflow_id": "w", "timeoutMs": 5, "attempt": 1, "lease": {"token": "0".repeat(32)}});
    let of_run = json!({"task_id": format!("{run}.0000099"), "run_id": run, "device_id": "PC-01-d1",
        "runtime_handle": "h", "attempt": 1, "lease": {"token": "z"}});
    let all = [
        Event::run_started("PC-01", "y"),
        Event::started("PC-01", &job),
        Event::progress("PC-01", &job, "LOGIN_FLOW"),
        Event::failed("PC-01", &job, "unknown"),
        Event::succeeded("PC-01", &of_run),
        Event::run_finished("PC-01", "y", (1, 1)),
    ];
    all.iter().map(Event::nested).chain([Event::succeeded("PC-01", &job).flat()]).collect()
}
