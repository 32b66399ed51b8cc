//! The commands of contract P, as scripts use them, and tokens that end when they should, whatever happens to the server: P1, P2,
//! P13, P17, I4, I5.

use crate::{Pool, hand_in, plain, proofs, told};
use muster_tests::{Client, FakePoolWorker, Request, Server, muster_command, password_of};
use serde_json::{Value, json};
use std::{
    fs,
    io::Write,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Output, Stdio},
};

/// Who types, and where their login is kept.
struct Typist<'s> {
    server: &'s Server,
    home: &'s Path,
    token: Option<String>,
}

impl Typist<'_> {
    /// Runs a command with a line on its standard input.
    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = muster_command();
        command.args(arguments).env("MUSTER_SERVER", self.server.anonymous().url()).env("HOME", self.home);
        command.env_remove("XDG_CONFIG_HOME").envs(self.token.iter().map(|token| ("MUSTER_TOKEN", token)));
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // One that does not read it may be gone by now.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn done(&self, arguments: &[&str], input: &str) -> String {
        let output = self.run(arguments, input);
        assert_eq!(output.status.code(), Some(0), "{arguments:?} {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    fn json(&self, arguments: &[&str]) -> Value {
        serde_json::from_str(&self.done(&[arguments, &["--json"]].concat(), "")).unwrap()
    }
}

/// P1, I4, I5, I6: users are added, listed and put out of service by commands; a login's file is for its owner only and its
/// token ends with the user, at once.
#[test]
fn users_come_and_go_by_commands() {
    let (server, home) = (Server::start(), tempfile::tempdir().unwrap());
    let admin = Typist { server: &server, home: home.path(), token: Some(server.admin_token()) };
    let password = password_of("ann");
    let add = ["user", "add", "ann", "--role", "CLIENT", "--role", "WORKER_OWNER", "--password-stdin"];
    admin.done(&add, &format!("{password}\n"));
    let users = admin.json(&["user", "list"]);
    assert_eq!(users["users"][0]["roles"], json!(["CLIENT", "WORKER_OWNER"]), "{users}");
    assert_eq!(admin.run(&add, &format!("{password}\n")).status.code(), Some(4), "the name is taken");
    assert_eq!(
        admin.run(&["user", "add", "bob", "--password-stdin"], "x\n").status.code(),
        Some(2),
        "no role"
    );
    let ann = Typist { server: &server, home: home.path(), token: None };
    assert_eq!(ann.run(&["job", "list"], "").status.code(), Some(4), "not logged in");
    assert_eq!(ann.run(&["login", "--user", "ann", "--password-stdin"], "wrong\n").status.code(), Some(4));
    let login = ann.run(&["login", "--user", "ann", "--password-stdin"], &format!("{password}\n"));
    assert_eq!(login.status.code(), Some(0), "{login:?}");
    let kept = files_in(home.path());
    assert!(!kept.is_empty());
    for file in kept {
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o077, 0, "{}", file.display());
        assert!(!fs::read_to_string(&file).unwrap().contains(&password), "a token is kept, no password");
    }
    let submitted = ann.json(&["job", "submit", r#"{"n": 1}"#]);
    assert_eq!(ann.json(&["job", "list"])["jobs"][0]["id"], submitted["id"]);
    let logged_in = server.login("ann");
    admin.done(&["user", "disable", "ann"], "");
    assert_eq!(told(&logged_in.get("/auth/me")), (401, "Invalid token".to_owned()));
    assert_eq!(ann.run(&["job", "list"], "").status.code(), Some(4));
    admin.done(&["user", "enable", "ann"], "");
    admin.done(&["user", "passwd", "ann", "--password-stdin"], "another-and-longer-one\n");
    assert_eq!(server.try_login("ann", &password).status, 401);
    assert_eq!(server.try_login("ann", "another-and-longer-one").status, 200);
    assert_eq!(admin.run(&["user", "disable", "nobody"], "").status.code(), Some(5));
}

/// P13, P17, I4: a job is handed in, watched, shown and cancelled by commands; its receipt is printed and verified.
#[test]
fn jobs_are_followed_by_commands() {
    let pool = Pool::start();
    let (home, token) =
        (tempfile::tempdir().unwrap(), pool.client.post("/api-keys", &json!({"name": "cli"})));
    let token = token.expect(201)["key"].as_str().unwrap().to_owned();
    let carl = Typist { server: &pool.server, home: home.path(), token: Some(token) };
    let job = carl.json(&["job", "submit", r#"{"prompt": "hello"}"#, "--priority", "7"]);
    let id = job["id"].to_string();
    assert_eq!(pool.worker.poll()["cost_hint_tokens"], 7);
    pool.worker.work_off(&json!({"ok": true}));
    assert_eq!(carl.json(&["job", "watch", &id])["status"], "completed");
    assert_eq!(carl.json(&["job", "show", &id])["output"], json!({"ok": true}));
    let file = home.path().join("receipt.json");
    fs::write(&file, carl.done(&["job", "receipt", &id], "")).unwrap();
    assert_eq!(proofs::verify(&file, &["--key", &pool.worker.public_key()]).status.code(), Some(0));
    assert_eq!(carl.run(&["job", "cancel", &id], "").status.code(), Some(4));
    let waiting = hand_in(&pool.client, &plain(1)).to_string();
    let explained = carl.json(&["explain", "job", &waiting]);
    assert_eq!(explained["cause"], "waiting_for_poll", "{explained}");
    assert_eq!(carl.json(&["job", "cancel", &waiting])["status"], "cancelled");
    assert_eq!(carl.run(&["job", "watch", &waiting], "").status.code(), Some(1));
    assert_eq!(carl.run(&["job", "show", "999"], "").status.code(), Some(5));
    let _ = FakePoolWorker::registered(pool.worker.owner(), "worker-b");
}

fn files_in(directory: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files_in(&path) } else { vec![path] }).collect()
}

fn ended(client: &Client) {
    assert_eq!(told(&client.get("/auth/me")), (401, "Invalid token".to_owned()));
}

fn refreshed(client: &Client) -> Client {
    let answer = client.send(Request::new("POST", "/auth/refresh")).expect(200);
    client.with_token(answer["access_token"].as_str().unwrap())
}

fn change(server: &Server, name: &str, change: &Value) {
    let _ = server.admin().patch(&format!("/users/{name}"), change).expect(200);
}

/// P1, P2: a refresh ends the old token at once and for good, over kill -9 and a restart.
#[test]
fn a_refresh_ends_the_token_before() {
    let mut server = Server::start();
    let first = server.user("ann", &["CLIENT"]);
    let second = refreshed(&first);
    ended(&first);
    assert_eq!(told(&first.send(Request::new("POST", "/auth/refresh"))), (401, "Invalid token".to_owned()));
    let _ = second.get("/auth/me").expect(200);
    server.kill9();
    server.restart();
    ended(&first);
    let _ = second.get("/auth/me").expect(200);
    let third = refreshed(&second);
    server.kill9();
    server.restart();
    ended(&second);
    let _ = third.get("/auth/me").expect(200);
    assert_eq!(third.send(Request::new("POST", "/auth/logout")).status, 204);
    server.kill9();
    server.restart();
    ended(&third);
}

/// P1, P2, P13: a disabled user's tokens and API keys stop working at once, over a restart too; what was handed in stays.
#[test]
fn a_disabled_user_is_shut_out() {
    let mut server = Server::start();
    let ann = server.user("ann", &["CLIENT", "WORKER_OWNER"]);
    let job = hand_in(&ann, &plain(1));
    let worker = FakePoolWorker::registered(&ann, "worker-a");
    let assignment = worker.poll();
    let key = ann.post("/api-keys", &json!({"name": "ci"})).expect(201);
    let by_key = ann.with_token(key["key"].as_str().unwrap());
    change(&server, "ann", &json!({"active": false}));
    for _ in 0..2 {
        ended(&ann);
        ended(&by_key);
        assert_eq!(told(&worker.submit(&worker.result(&assignment, &json!({})))).0, 401);
        let login = server.try_login("ann", &password_of("ann"));
        assert_eq!(told(&login), (401, "Incorrect username or password".to_owned()));
        server.kill9();
        server.restart();
    }
    change(&server, "ann", &json!({"active": true}));
    ended(&ann);
    let again = server.login("ann");
    assert_eq!(again.get(&format!("/jobs/{job}")).expect(200)["status"], "running");
    let _ = worker.by(&again).submit(&worker.result(&assignment, &json!({}))).expect(200);
}

/// P13: an API key is a bearer token, shown once, of its user and no more; taken back it stops at once, over a restart.
#[test]
fn api_keys_are_bearer_tokens() {
    let mut server = Server::start();
    let (ann, bob) = (server.user("ann", &["CLIENT", "WORKER_OWNER"]), server.user("bob", &["CLIENT"]));
    let made = ann.post("/api-keys", &json!({"name": "ci", "scopes": ["CLIENT"]})).expect(201);
    let (id, key) = (&made["id"], made["key"].as_str().unwrap());
    let by_key = ann.with_token(key);
    let job = hand_in(&by_key, &plain(1));
    assert_eq!(ann.get(&format!("/jobs/{job}")).status, 200, "they are the user's");
    assert_eq!(told(&by_key.get("/workers")), (403, "Insufficient role".to_owned()), "beyond its scopes");
    assert_eq!(bob.get("/api-keys").expect(200)["api_keys"], json!([]));
    let list = ann.get("/api-keys").expect(200);
    assert!(!list.to_string().contains(key), "shown once");
    server.kill9();
    server.restart();
    assert_eq!(by_key.get("/auth/me").expect(200)["roles"], json!(["CLIENT"]));
    let revoke = Request::new("DELETE", &format!("/api-keys/{id}"));
    assert_eq!(told(&bob.send(revoke.clone())), (404, "API key not found".to_owned()));
    assert_eq!(ann.send(revoke).status, 204);
    for _ in 0..2 {
        ended(&by_key);
        server.kill9();
        server.restart();
    }
}
