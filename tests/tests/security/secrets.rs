//! Passwords, tokens and keys are nowhere but with whoever they belong to: I6, P1, P13, P16.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use muster_tests::{
    Answer, Client, FakePoolWorker, Gateway, Request, Server, muster_command, password_of, wait_until,
};
use serde_json::json;
use std::{fs, path::Path, process::Stdio};

/// I6, P1, P13, P16: after logins, right and wrong, refreshes, keys, work and errors with a log of everything, no secret stands
/// in a log, an error, a metric, the audit log, the command line or the database; keys are there as hashes, passwords as argon2id.
#[test]
fn secrets_stay_where_they_belong() {
    let server = Server::with(&[("MUSTER_LOG", "trace")]);
    let gateway = Gateway::before(&server, &[]);
    let mut secrets = vec![server.admin_token(), server.node_secret(), server.enrol_secret()];
    for file in ["token-secret", "artifact-key"] {
        secrets.push(fs::read_to_string(server.data().join(file)).unwrap());
    }
    let errors = live(&server, &gateway, &mut secrets);
    let worker_log = run_a_worker(&server, &mut secrets);
    let (metrics, audit) =
        (server.admin().get("/metrics").text(), server.admin().get("/audit?limit=1000").text());
    let line = fs::read(format!("/proc/{}/cmdline", server.id())).unwrap();
    let tables = server.database().dump(&[]).join("\n");
    let shown = [
        ("the server's log", server.log()),
        ("the gateway's log", gateway.log()),
        ("the worker's log", worker_log),
        ("an error", errors),
        ("the metrics", metrics),
        ("the audit log", audit.clone()),
        ("ps", String::from_utf8_lossy(&line).into_owned()),
        ("the tables", tables.clone()),
    ];
    for secret in &secrets {
        assert!(secret.len() >= 16, "too short to be looked for");
        for (place, text) in &shown {
            assert!(!text.contains(secret.as_str()), "{secret:.12}… in {place}");
        }
        for file in fs::read_dir(server.data()).unwrap().map(|entry| entry.unwrap().path()) {
            let is_database = file.file_name().unwrap().to_string_lossy().starts_with("muster.db");
            let bytes = if is_database { fs::read(&file).unwrap() } else { Vec::new() };
            let is_there = bytes.windows(secret.len()).any(|window| window == secret.as_bytes());
            assert!(!is_there, "{secret:.12}… in {}", file.display());
        }
    }
    assert!(tables.contains("$argon2id$") && !audit.contains("argon2"), "{audit}");
    assert!(!server.log().contains("$argon2id$"), "not even a hash is logged");
}

/// Does everything that has to do with secrets; gives all refusals, and adds the secrets to those to be looked for.
fn live(server: &Server, gateway: &Gateway, secrets: &mut Vec<String>) -> String {
    let mut errors = String::new();
    let mut note = |answer: Answer| {
        assert!(answer.status >= 400, "{}", answer.text());
        errors.push_str(&answer.text());
    };
    let ann = logged_in(server, "ann", secrets);
    let made = ann.post("/api-keys", &json!({"name": "ci"})).expect(201);
    let key = made["key"].as_str().unwrap().to_owned();
    let by_key = gateway.anonymous().with_token(&key);
    let worker = FakePoolWorker::registered(&ann, "worker-a");
    let id = by_key.post("/jobs", &json!({"payload": {}})).expect(201)["id"].clone();
    worker.work_off(&json!({"ok": true}));
    assert_eq!(by_key.get(&format!("/jobs/{id}/receipt")).status, 200);
    let refreshed = ann.send(Request::new("POST", "/auth/refresh")).expect(200);
    let next = refreshed["access_token"].as_str().unwrap().to_owned();
    note(ann.get("/jobs"));
    let ann = ann.with_token(&next);
    let wrong = "a-wrong-password-of-ann";
    note(server.try_login("ann", wrong));
    note(server.anonymous().post("/auth/login", &json!({"username": 7, "password": wrong})));
    note(server.anonymous().post("/auth/login", &json!({"username": "ann", "password": [wrong]})));
    note(server.anonymous().post("/auth/login", &json!([wrong])));
    note(server.anonymous().get(&format!("/jobs?access_token={next}")));
    note(by_key.get(&format!("/jobs?key={key}")));
    note(ann.patch("/users/ann", &json!({"current_password": wrong, "password": "a-new-password-of-ann"})));
    note(server.admin().post("/users", &json!({"username": "ann", "password": wrong, "roles": ["KING"]})));
    note(server.admin().post("/users", &json!({"username": "ann", "password": wrong, "roles": []})));
    note(server.anonymous().with_token(&format!("{next}x")).get("/jobs"));
    let own = json!({"current_password": password_of("ann"), "password": "a-new-password-of-ann"});
    let _ = ann.patch("/users/ann", &own).expect(200);
    let strings = [key, next, wrong.to_owned(), "a-new-password-of-ann".to_owned()];
    secrets.extend(strings);
    errors
}

fn logged_in(server: &Server, name: &str, secrets: &mut Vec<String>) -> Client {
    server.add_user(name, &["CLIENT", "WORKER_OWNER"]);
    let login = server.try_login(name, &password_of(name)).expect(200);
    let token = login["access_token"].as_str().unwrap().to_owned();
    secrets.extend([password_of(name), token.clone()]);
    server.anonymous().with_token(&token)
}

/// Has `muster pool-worker` do a job; gives its log, and adds its key, in the ways it could be written.
fn run_a_worker(server: &Server, secrets: &mut Vec<String>) -> String {
    let directory = tempfile::tempdir().unwrap();
    server.add_user("olga", &["WORKER_OWNER"]);
    let (key, log) = (directory.path().join("key"), directory.path().join("log"));
    let mut command = muster_command();
    command.args([
        "pool-worker",
        "--server",
        &server.anonymous().url(),
        "--user",
        "olga",
        "--name",
        "real",
        "--key",
    ]);
    command.arg(&key).arg("--spool").arg(directory.path().join("spool"));
    command.env("MUSTER_PASSWORD", password_of("olga")).env("MUSTER_LOG", "trace").env("RUST_LOG", "trace");
    let mut child = command.stdout(Stdio::null()).stderr(fs::File::create(&log).unwrap()).spawn().unwrap();
    let id = server.admin().post("/jobs", &json!({"payload": {"op": "echo", "value": 1}})).expect(201)["id"]
        .clone();
    wait_until("the worker does its job", || {
        server.admin().get(&format!("/jobs/{id}")).expect(200)["status"] == "completed"
    });
    child.kill().unwrap();
    child.wait().unwrap();
    secrets.push(password_of("olga"));
    secrets.extend(spellings(&key));
    fs::read_to_string(&log).unwrap()
}

fn spellings(key: &Path) -> [String; 2] {
    let seed = fs::read(key).unwrap();
    [URL_SAFE_NO_PAD.encode(&seed), seed.iter().map(|byte| format!("{byte:02x}")).collect()]
}
