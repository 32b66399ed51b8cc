use super::*;
use muster_contract_nodes::{Allowed, read_artifact};
use muster_model::{Fence, JobId, LeaseKind, Name, TaskId};
use serde_json::json;

const TOKEN: &str = "000000000000000000000000000000ab";

fn request() -> Value {
    json!({"node_id": "PC-01", "task_id": "t", "attempt": 2, "lease_token": TOKEN, "kind": "screenshot",
        "content_type": "image/png", "size": 5})
}

fn with(key: &str, value: Value) -> Value {
    let mut body = request();
    body[key] = value;
    body
}

fn read(body: &Value) -> Result<ArtifactOrder, Problem> {
    let types = ["image/png", "image/jpeg", "text/plain", "application/x-very-long"].map(str::to_owned);
    let order = read_artifact(body, Allowed { types: &types, size_max: 10 })?;
    read_template(&order).map(|_| order)
}

fn blamed(body: &Value) -> String {
    let problem = read(body).unwrap_err();
    assert_eq!(problem.status(), 422, "{body}");
    problem.field().unwrap().to_owned()
}

fn task() -> TaskRecord {
    TaskRecord {
        id: TaskId { job: JobId(0x0199_0000_0000_7000_8000_0000_0000_0001), ordinal: 7 },
        worker: Name::new("PC-01").unwrap(),
        lane: Name::new("10.0.0.7:5555").unwrap(),
        status: TaskStatus::Running,
        attempt: 2,
        max_attempts: 3,
        error: None,
        result: None,
        fence: Fence(0xab),
        lease: LeaseKind::Presence,
        lease_until: None,
        created_at: Timestamp(1),
        started_at: Some(Timestamp(1_760_000_000_000)),
        confirmed_at: None,
        timeout_at: None,
        completed_at: None,
        timed_out: false,
        logs: 0,
    }
}

fn path(body: &Value, params: &str) -> String {
    let order = read(body).unwrap();
    storage_path(&order, read_template(&order).unwrap(), &task(), params).unwrap().to_string()
}

/// N21: the contract's path, with the run's video or `_`, and the extension of the type.
#[test]
fn the_path_is_the_contracts() {
    let run = "01990000-0000-7000-8000-000000000001";
    let expected = format!("videos/dQw4w9WgXcQ/PC-01/10.0.0.7~3A5555/{run}/1760000000000.png");
    assert_eq!(path(&request(), r#"{"youtubeVideoId":"dQw4w9WgXcQ"}"#), expected);
    for params in ["{}", r#"{"youtubeVideoId":null}"#, r#"{"youtubeVideoId":""}"#, "[]"] {
        assert!(path(&request(), params).starts_with("videos/_/PC-01/"), "{params}");
    }
    let hostile = path(&request(), r#"{"youtubeVideoId":"../../etc"}"#);
    assert!(hostile.starts_with("videos/~2E.~2F..~2Fetc/PC-01/"), "{hostile}");
    assert!(path(&with("content_type", json!("IMAGE/JPEG; q=1")), "{}").ends_with("/1760000000000.jpg"));
    assert!(path(&with("content_type", json!("application/x-very-long")), "{}").ends_with("0.bin"));
}

/// N21: a repeat gets the same path; other kinds and names of one attempt get others.
#[test]
fn several_files_of_an_attempt_are_told_apart() {
    assert_eq!(path(&request(), "{}"), path(&request(), "{}"));
    assert!(path(&with("kind", json!("log")), "{}").ends_with("/1760000000000-log.png"));
    assert!(path(&with("name", json!("a b")), "{}").ends_with("/1760000000000-a~20b.png"));
}

/// N21: a workflow's template, with all its placeholders; one that is wrong is refused by name.
#[test]
fn a_workflow_may_have_a_template() {
    let templated = |template: &str| with("storage_path", json!(template));
    let all =
        "x/{youtubeVideoId}/{node_id}-{device_id}/{run_id}.{task_id}/{kind}-{attempt}-{timestamp}.{ext}";
    let made = path(&templated(all), r#"{"youtubeVideoId":7}"#);
    assert!(made.starts_with("x/7/PC-01-10.0.0.7~3A5555/01990000"), "{made}");
    assert!(made.ends_with(".0000007/screenshot-2-1760000000000.png"), "{made}");
    for bad in ["../{kind}", "/etc/{kind}", "a/../b", "a//b", "{secret}", "{", "a\0", "", ".a"] {
        assert_eq!(blamed(&templated(bad)), "storage_path", "{bad}");
    }
    let mut named = templated("{kind}-{name}.{ext}");
    assert_eq!(path(&named, "{}"), "screenshot-_.png");
    named["name"] = json!("SHOT_2");
    assert_eq!(path(&named, "{}"), "screenshot-SHOT_2.png");
    let long = vec!["{youtubeVideoId}"; 20].join("/");
    let params = format!(r#"{{"youtubeVideoId":"{}"}}"#, "x".repeat(100));
    let order = read(&templated(&long)).unwrap();
    let problem = storage_path(&order, read_template(&order).unwrap(), &task(), &params).unwrap_err();
    assert_eq!((problem.status().as_u16(), problem.field()), (422, Some("storage_path")));
}

/// N6, N21: every field is checked and named.
#[test]
fn a_wrong_field_is_named() {
    for (key, bad) in [
        ("node_id", json!("../x")),
        ("task_id", json!(7)),
        ("attempt", json!(0)),
        ("lease_token", json!(null)),
        ("kind", json!("a/b")),
        ("content_type", json!("text/html")),
        ("content_type", json!("")),
        ("size", json!(11)),
        ("size", json!(-1)),
        ("size", json!("5")),
        ("sha256", json!("abc")),
        ("sha256", json!("z".repeat(64))),
        ("name", json!("..")),
        ("storage_path", json!(["a"])),
    ] {
        assert_eq!(blamed(&with(key, bad.clone())), key, "{bad}");
    }
    for key in ["node_id", "task_id", "attempt", "lease_token", "kind", "content_type", "size"] {
        assert_eq!(blamed(&with(key, Value::Null)), key);
    }
    assert!(read(&with("sha256", json!("A".repeat(64)))).unwrap().sha256.is_some());
}

/// N21, N6b: only the holder of the live attempt may upload.
#[test]
fn only_the_live_attempt_may_upload() {
    let refused = |body: &Value, task: &TaskRecord| {
        let problem = check_lease(&read(body).unwrap(), task).unwrap_err();
        assert_eq!(problem.status(), 409);
        problem.detail().to_owned()
    };
    assert!(check_lease(&read(&request()).unwrap(), &task()).is_ok());
    assert!(refused(&with("node_id", json!("PC-02")), &task()).contains("PC-01"));
    for (key, value) in [
        ("attempt", json!(1)),
        ("lease_token", json!("xyz")),
        ("lease_token", json!(TOKEN.replace('a', "b"))),
    ] {
        assert!(refused(&with(key, value), &task()).contains("live attempt"));
    }
    for status in [TaskStatus::Pending, TaskStatus::Completed, TaskStatus::Failed, TaskStatus::Cancelled] {
        assert!(refused(&request(), &TaskRecord { status, ..task() }).contains(status.as_str()));
    }
}
