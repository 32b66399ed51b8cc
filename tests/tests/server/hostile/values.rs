//! A valid body for each route, about things that do not exist, and what no honest caller sends in its place.

use muster_tests::{Event, Request, Route, sim_registration};
use serde_json::{Value, json};

/// A key that was used, for another body: whatever else is right with a run, it is refused.
pub(crate) const USED_KEY: &str = "used";

/// A session that is there, with another body: whatever else is right with a session of that name, it is refused.
pub(crate) const USED_SESSION: &str = "used";

/// A worker in quarantine: whatever else is right with its registration, it is refused.
pub(crate) const QUARANTINED: &str = "W9";

/// A user's and a worker's name that is taken: whatever else is right with another of that name, it is refused.
pub(crate) const TAKEN: &str = "taken";

/// An address about something that does not exist.
pub(crate) fn of_nobody(path: &str) -> String {
    let path = path.replace("{kind}", "run").replace("{id}", "nobody");
    path.replace("{path}", "nobody").replace("{name}", "nobody")
}

/// A session as a client submits it.
pub(crate) fn session(id: &str, frames_per_task: u64) -> Value {
    json!({"sessionId": id, "totalFrames": 10, "framesPerTask": frames_per_task, "scenario": {"a": 1},
        "cameras": ["front"], "qualityMode": "strict"})
}

/// A schedule as an operator hands it in; its slots are far away.
pub(crate) fn schedule(queue: &str) -> Value {
    json!({"cron": "0 0 29 2 *", "timezone": "UTC", "missed": "skip", "run": {"workflow_id": "w",
        "params": {"a": 1}, "scope": {"labels": {"a": "b"}}, "queue": queue, "timeoutMs": 1000, "max_attempts": 2,
        "title": "t"}})
}

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
        Request::new(&route.method, &of_nobody(&route.path)).header("Idempotency-Key", USED_KEY).bytes(body)
    }

    /// True if a value would be valid there, and have an effect.
    pub(crate) fn may_be(&self, pointer: &str, value: &str) -> bool {
        let names = ["/node_id", "/workerId", "/sessionId", "/name", "/username"]
            .iter()
            .any(|name| pointer.ends_with(name));
        let enrols = names && NAMES.contains(&value);
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
        ("POST", "/api/runs/{id}/retry") => one(json!({"failure_reason": "x", "title": "t"})),
        ("POST", "/api/schedules") => one(schedule("q")),
        ("PATCH", "/api/devices/{id}") => one(json!({"labels": {"rack": "7"}})),
        ("POST", "/api/court/tasks/{id}/reply") => one(json!({"text": "t"})),
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
        ("POST", "/api/nodes/callbacks") => one(json!({"events": &events(run)[..2]})),
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
        ("POST", "/workers/register") => Some(vec![pool_worker()]),
        _ => of_sessions(method, path).or_else(|| of_the_pool(method, path)).map(|body| vec![base(body)]),
    }
}

/// The body of a route of contract S.
fn of_sessions(method: &str, path: &str) -> Option<Value> {
    let rest = path.strip_prefix("/api/v1/").filter(|_| method == "POST")?;
    Some(match rest {
        "workers/register" => sim_registration(QUARANTINED, None),
        "workers/{id}/heartbeat" => {
            json!({"queueRatio": 0.1, "gpuUsage": 0.5, "lastFrame": 3, "status": "ok", "rttMs": 4})
        }
        "workers/{id}/progress" => json!({"sessionId": "s", "taskId": "s.00000000", "processedFrames": 1,
            "maxQueueRatio": 0.5, "droppedFrames": 0, "diagnostics": ["d"]}),
        "workers/rebind" => json!({"workerId": "W1", "epoch": 1, "currentTask": null, "lastFrame": 3,
            "state": "Healthy"}),
        "workers/broadcast" => json!({"command": "Dance"}),
        "workers/{id}/approve" | "workers/{id}/quarantine" | "chunks/{id}/retire" => json!({"reason": "r"}),
        "quarantine/{id}/confirm" => json!({"note": "n"}),
        "id-ranges" => json!({"workerId": "W1", "requestedCount": 5}),
        "tasks/assign" => json!({"taskId": "s.00000000", "workerId": "W1"}),
        "tasks/{id}/fail" => json!({"workerId": "W1", "attempt": 1, "error": "e"}),
        "tasks/{id}/complete" => json!({"workerId": "W1", "attempt": 1, "poseFiles": ["p.json"],
            "metricsSnapshot": {"a": 1}, "manifestFragment": {"frameRange": [0, 5], "globalIdChunkId": 1,
                "workerId": "W1", "cameras": [], "statistics": {"frames": 5}, "validationSummary": {}}}),
        "sessions" => session(USED_SESSION, 5),
        "sessions/{id}/retry" => json!({"frames": [[0, 1]]}),
        _ => return None,
    })
}

/// The body of a route of contract P.
fn of_the_pool(method: &str, path: &str) -> Option<Value> {
    let job = json!({"payload": {"a": 1}, "priority": 5, "region": "eu", "requires": {"ram_gb": 4}, "max_attempts": 5,
        "timeout_s": 1.5, "verify_output_hash": true, "redundancy": 3});
    let result = json!({"worker_id": 999, "assignment_id": 64, "nonce": "0".repeat(32), "signature": "A".repeat(86),
        "output": {"a": [1]}, "error_message": "e", "artifact_uri": "s3://b/k", "output_hash": "h",
        "metrics_json": {"ms": 1}});
    Some(match (method, path) {
        ("POST", "/auth/login") => json!({"username": "nobody", "password": "x", "grant_type": "password"}),
        ("POST", "/users") => json!({"username": TAKEN, "password": "long enough", "roles": ["CLIENT"]}),
        ("PATCH", "/users/{name}") => {
            json!({"current_password": "x", "password": "long enough", "roles": ["CLIENT"], "active": true})
        }
        ("POST", "/api-keys") => json!({"name": "k", "scopes": ["CLIENT"]}),
        ("POST", "/workers/heartbeat") => json!({"worker_id": 999}),
        ("POST", "/workers/{id}/ban" | "/workers/{id}/unban") => json!({"reason": "r"}),
        ("PUT", "/workers/{id}/key") => json!({"public_key": "A".repeat(43)}),
        ("POST", "/jobs") => job,
        ("POST", "/jobs/batch") => json!({"jobs": [job, {"payload": null}]}),
        ("POST", "/jobs/poll") => json!({"worker_id": 999, "wait_ms": 0, "start": true, "resume": false}),
        ("POST", "/jobs/submit") => result,
        ("POST", "/jobs/work") => {
            json!({"worker_id": 999, "submit": [result], "max": 1, "wait_ms": 0, "start": true})
        }
        _ => return None,
    })
}

/// Refused in any case, because its name is taken; any other text would be a name (P3).
fn pool_worker() -> Base {
    Base {
        body: json!({"name": TAKEN, "region": "eu", "specs_json": {"slots": 1, "ram_gb": 4},
            "public_key": "A".repeat(43)}),
        spared: &[("/name", TEXTS)],
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
        Event::run_finished("PC-01", "y", 1, 1),
    ];
    all.iter().map(Event::nested).chain([Event::succeeded("PC-01", &job).flat()]).collect()
}

/// Strange names, but names: any node that speaks is enrolled, whatever becomes of what it said.
pub(crate) const NAMES: &[&str] = &[
    "\"-1\"",
    "\"'; DROP TABLE tasks; --\"",
    "\"\\ud83e\\udd80 crab\"",
    "\"%2e%2e%2f\"",
    "\"\\u202etxt\"",
    "\"node_heartbeat\"",
];

/// Short texts that are no names where names have rules.
pub(crate) const TEXTS: &[&str] =
    &["\" \"", "\"\\u0000\"", "\"a\\u0000b\"", "\"\\n\"", "\"../../etc/passwd\"", "\"..\"", "\"a/b\""];

/// Types that a body of JSON does not have.
pub(crate) const CONTENT_TYPES: [&str; 7] = [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    "application/xml",
    "application/json; charset=utf-16",
    "",
    "///;;;=",
];

/// Values as they stand in a text, most of them wrong in most places.
pub(crate) fn values() -> Vec<String> {
    let mut values: Vec<String> = [
        "null",
        "true",
        "false",
        "0",
        "-0",
        "-1",
        "1.5",
        "-1e308",
        "1e999",
        "NaN",
        "Infinity",
        "0x10",
        "01",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999",
        "\"\"",
        "\"\\ud800\"",
        "[]",
        "{}",
        "[null]",
        "[[[[]]]]",
        "{\"\":{}}",
        "{\"a\":1,\"a\":2}",
        "[1,]",
        "'x'",
    ]
    .map(str::to_owned)
    .to_vec();
    values.extend(TEXTS.iter().map(|text| (*text).to_owned()));
    values.extend(NAMES.iter().map(|name| (*name).to_owned()));
    values.push(format!("\"{}\"", "x".repeat(10_000)));
    values.push(format!("\"{}\"", "é".repeat(129)));
    values.push(format!("[{}]", vec!["1"; 20_000].join(",")));
    values.push(format!("{}{}", "[".repeat(127), "]".repeat(127)));
    values
}

/// Whole bodies that are none.
pub(crate) fn bodies(base: &Value) -> Vec<Vec<u8>> {
    let good = base.to_string();
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let object = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let doubled = format!("{{\"node_id\":\"x\",\"node_id\":\"y\",{}", good.get(1..).unwrap_or_default());
    let mut bodies: Vec<Vec<u8>> =
        ["{", "}", "[]", "5", "\"x\"", "{}x", "nul", "{\"a\"}", "{'a':1}", "[1e999]"]
            .map(|text| text.as_bytes().to_vec())
            .to_vec();
    bodies.extend([
        vec![b' '; 2 * 1024 * 1024],
        vec![b'['; 2 * 1024 * 1024],
        format!("{{\"x\":\"{}\"}}", "x".repeat(2 * 1024 * 1024)).into_bytes(),
        format!("{open}{close}").into_bytes(),
        open.into_bytes(),
        object.into_bytes(),
        doubled.into_bytes(),
        format!("{good}{good}").into_bytes(),
        format!("\u{feff}{good}").into_bytes(),
        format!("[{good}]").into_bytes(),
        good.bytes().flat_map(|byte| [byte, 0]).collect(),
        b"{\"a\": \"\xff\xfe\"}".to_vec(),
        b"\"\xc3\x28\"".to_vec(),
        vec![0; 100],
        good.as_bytes()[..good.len() / 2].to_vec(),
    ]);
    bodies
}

/// Ids, as they stand in an address.
pub(crate) fn ids() -> Vec<String> {
    let mut ids: Vec<String> = [
        "..",
        "%2e%2e",
        ".",
        "%2e",
        "%00",
        "a%00b",
        "%0a",
        "%0d%0aSet-Cookie:%20x=y",
        "..%2f..%2fetc%2fpasswd",
        "..%5c..%5c",
        "%ff",
        "%c3%28",
        "%",
        "%zz",
        "%25",
        "%2525",
        "'",
        "%27%20OR%201=1;--",
        "-1",
        "0",
        "1e999",
        "99999999999999999999",
        "01990000-0000-7000-8000-000000000001",
        "01990000-0000-7000-8000-000000000001.9999999",
        "01990000-0000-7000-8000-000000000001.99999999999",
        "%E2%80%AE",
        "a%20b",
        ";",
        "a;b=c",
        "*",
        "%2f",
        "~",
        "null",
        "%F0%9F%A6%80",
    ]
    .map(str::to_owned)
    .to_vec();
    ids.push("x".repeat(10_000));
    ids.push("%2e%2e%2f".repeat(500));
    ids
}

/// Queries, as they stand in an address.
pub(crate) fn queries() -> Vec<String> {
    let mut queries: Vec<String> = [
        "limit=-1",
        "limit=0",
        "limit=1001",
        "limit=99999999999999999999",
        "limit=1e3",
        "limit=NaN",
        "limit=%00",
        "limit=",
        "after=%00",
        "after=%27",
        "after=-1",
        "after=..",
        "after=99999999999999999999",
        "after=%ff",
        "status=%00",
        "status=%27%20OR%201=1",
        "status[]=x",
        "queue=../x",
        "pc_id=%0a",
        "%ff=%ff",
        "&&&=&",
        "limit=1&limit=2",
        "=",
        "%",
        "%zz=1",
        "wait_ms=-1",
        "node_id=%00",
        "node_id=..",
        "node_id=PC-01&wait_ms=-1",
        "node_id=PC-01&wait_ms=1e9",
        "node_id=a&node_id=b",
        "a=b",
    ]
    .map(str::to_owned)
    .to_vec();
    queries.push(format!("after={}", "x".repeat(20_000)));
    queries.push(vec!["a=b"; 5000].join("&"));
    queries
}

/// Headers that mean nothing good.
pub(crate) fn headers() -> Vec<(String, String)> {
    let pairs = [
        ("authorization", "Bearer"),
        ("authorization", "Bearer  "),
        ("authorization", "Basic eDp5"),
        ("authorization", "Bearer \u{ff}"),
        ("host", "evil.example"),
        ("host", ""),
        ("host", "localhost:99999"),
        ("origin", "https://evil.example"),
        ("x-forwarded-host", "evil.example"),
        ("x-http-method-override", "DELETE"),
        ("expect", "200-ok"),
        ("range", "bytes=0-,-1,5-2"),
        ("accept", "\u{ff}/\u{ff}"),
        ("content-encoding", "gzip"),
        ("upgrade", "websocket"),
        ("x-request-id", "\u{1b}[2J"),
        ("last-event-id", "-5"),
        ("idempotency-key", "\u{ff}"),
    ];
    let mut headers: Vec<_> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    headers.push(("x-long".to_owned(), "x".repeat(8000)));
    headers.push(("x-request-id".to_owned(), "x".repeat(8000)));
    headers.push(("idempotency-key".to_owned(), "x".repeat(8000)));
    headers
}

/// Every place in a document, as a JSON pointer.
pub(crate) fn pointers(document: &Value) -> Vec<String> {
    let children: Vec<(String, &Value)> = match document {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    let mut found = Vec::new();
    for (key, value) in children {
        found.push(format!("/{key}"));
        found.extend(pointers(value).into_iter().map(|inner| format!("/{key}{inner}")));
    }
    found
}

/// The document with a text, JSON or not, in that place.
pub(crate) fn replaced(document: &Value, pointer: &str, text: &str) -> Vec<u8> {
    let mut document = document.clone();
    *document.pointer_mut(pointer).unwrap() = Value::from(MARK);
    document.to_string().replacen(&format!("\"{MARK}\""), text, 1).into_bytes()
}

/// The document without that place.
pub(crate) fn removed(document: &Value, pointer: &str) -> Vec<u8> {
    let mut document = document.clone();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    match document.pointer_mut(parent) {
        Some(Value::Object(members)) => {
            members.remove(key);
        }
        Some(Value::Array(items)) => items.push(Value::Null),
        _ => {}
    }
    document.to_string().into_bytes()
}

const MARK: &str = "@the place@";
