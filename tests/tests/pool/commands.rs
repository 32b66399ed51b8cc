//! The commands of contract P, as scripts use them, and tokens that end when they should, whatever happens to the server: P1, P2,
//! P13, P17, I4, I5.

use crate::{Pool, hand_in, plain, proofs, told};
use muster_tests::{
    Ended, FakePoolWorker, Request, Server, frames::files_below, muster_command, password_of, run_with,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, path::Path};

/// User at a command line, with the directory that keeps their login.
struct Typist<'s> {
    server: &'s Server,
    home: &'s Path,
    token: Option<String>,
}

impl Typist<'_> {
    /// Runs a command with a line on its standard input.
    fn run(&self, arguments: &[&str], input: &str) -> Ended {
        let mut command = muster_command();
        command.args(arguments).env("MUSTER_SERVER", self.server.anonymous().url()).env("HOME", self.home);
        command.env_remove("XDG_CONFIG_HOME").envs(self.token.iter().map(|token| ("MUSTER_TOKEN", token)));
        run_with(&mut command, input.as_bytes())
    }

    fn done(&self, arguments: &[&str], input: &str) -> String {
        self.run(arguments, input).done().stdout
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
    assert_eq!(admin.run(&add, &format!("{password}\n")).code, 4, "the name is taken");
    assert_eq!(admin.run(&["user", "add", "bob", "--password-stdin"], "x\n").code, 2, "no role");
    let ann = Typist { server: &server, home: home.path(), token: None };
    assert_eq!(ann.run(&["job", "list"], "").code, 4, "not logged in");
    assert_eq!(ann.run(&["login", "--user", "ann", "--password-stdin"], "wrong\n").code, 4);
    let login = ann.run(&["login", "--user", "ann", "--password-stdin"], &format!("{password}\n"));
    assert_eq!(login.code, 0, "{login:?}");
    let kept = files_below(home.path());
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
    assert_eq!(ann.run(&["job", "list"], "").code, 4);
    admin.done(&["user", "enable", "ann"], "");
    admin.done(&["user", "passwd", "ann", "--password-stdin"], "another-and-longer-one\n");
    assert_eq!(server.try_login("ann", &password).status, 401);
    assert_eq!(server.try_login("ann", "another-and-longer-one").status, 200);
    assert_eq!(admin.run(&["user", "disable", "nobody"], "").code, 5);
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
    assert_eq!(proofs::verify(&file, &["--key", &pool.worker.public_key()]).code, 0);
    assert_eq!(carl.run(&["job", "cancel", &id], "").code, 4);
    let waiting = hand_in(&pool.client, &plain(1)).to_string();
    let explained = carl.json(&["explain", "job", &waiting]);
    assert_eq!(explained["cause"], "waiting_for_poll", "{explained}");
    assert_eq!(carl.json(&["job", "cancel", &waiting])["status"], "cancelled");
    assert_eq!(carl.run(&["job", "watch", &waiting], "").code, 1);
    assert_eq!(carl.run(&["job", "show", "999"], "").code, 5);
    let _ = FakePoolWorker::registered(pool.worker.owner(), "worker-b");
}

/// P1, P2, P13: what ended a token or a key at once has ended it for good, over kill -9: a refresh, a logout, a user put out of
/// service, a key taken back. What was not ended works on, and what was handed in stays.
#[test]
fn what_ended_a_token_ended_it_for_good() {
    let mut server = Server::start();
    let first = server.user("ann", &["CLIENT", "WORKER_OWNER"]);
    let answer = first.send(Request::new("POST", "/auth/refresh")).expect(200);
    let refreshed = first.with_token(answer["access_token"].as_str().unwrap());
    let logged_out = server.login("ann");
    assert_eq!(logged_out.send(Request::new("POST", "/auth/logout")).status, 204);
    let [kept, revoked] = ["kept", "revoked"].map(|name| {
        let scoped = json!({"name": name, "scopes": ["CLIENT"]});
        refreshed.post("/api-keys", &scoped).expect(201)
    });
    assert_eq!(refreshed.send(Request::new("DELETE", &format!("/api-keys/{}", revoked["id"]))).status, 204);
    let [kept, revoked] = [kept, revoked].map(|made| first.with_token(made["key"].as_str().unwrap()));
    let bob = server.user("bob", &["CLIENT", "WORKER_OWNER"]);
    let job = hand_in(&bob, &plain(1));
    let worker = FakePoolWorker::registered(&bob, "worker-a");
    let result = worker.result(&worker.poll(), &json!({}));
    let serve =
        |server: &Server, active: bool| server.admin().patch("/users/bob", &json!({"active": active}));
    let _ = serve(&server, false).expect(200);
    for _ in 0..2 {
        for ended in [&first, &logged_out, &revoked, &bob] {
            assert_eq!(told(&ended.get("/auth/me")), (401, "Invalid token".to_owned()));
        }
        assert_eq!(worker.submit(&result).status, 401);
        let login = server.try_login("bob", &password_of("bob"));
        assert_eq!(told(&login), (401, "Incorrect username or password".to_owned()));
        assert_eq!(refreshed.get("/auth/me").status, 200);
        assert_eq!(kept.get("/auth/me").expect(200)["roles"], json!(["CLIENT"]));
        server.kill9_and_restart();
    }
    let _ = serve(&server, true).expect(200);
    assert_eq!(bob.get("/auth/me").status, 401, "no login comes back with the service");
    let again = server.login("bob");
    assert_eq!(again.get(&format!("/jobs/{job}")).expect(200)["status"], "running");
    let _ = worker.by(&again).submit(&result).expect(200);
}
