//! `muster serve` as a process: its start and stop, its settings and its secrets (I1 to I6).

use muster_tests::{
    Ended, Event, FakeNode, Request, Server, ServerSetup, muster_command, now_ms, run, until, wait_until,
};
use serde_json::{Value, json};
use std::{fs, os::unix::fs::PermissionsExt, thread};

/// I1: SIGTERM and SIGINT end it with 0 within 10 s, while a pull waits and a stream is open.
#[test]
fn a_stop_ends_what_waits() {
    for signal in ["TERM", "INT"] {
        let mut server = Server::start();
        let node = FakeNode::enrolled(server.node(), "PC-01", 1);
        let mut stream = server.admin().stream(Request::new("GET", "/api/events")).unwrap();
        thread::scope(|scope| {
            let pull = Request::new("GET", "/api/nodes/pull?node_id=PC-01&wait_ms=30000");
            let waiting = scope.spawn(|| node.client().try_send(pull));
            wait_until("the pull waits", || {
                let counts = server.admin().get("/metrics").text();
                counts.contains("\nmuster_waiting_pulls 1\n")
            });
            let asked = now_ms();
            server.signal(signal);
            let status = until("the server ends", || server.ended());
            let took_ms = now_ms() - asked;
            assert_eq!(status.code(), Some(0), "SIG{signal}");
            assert!(took_ms < 10_000, "SIG{signal} took {took_ms} ms");
            if let Ok(answer) = waiting.join().unwrap() {
                assert!([200, 503].contains(&answer.status), "{answer:?}");
            }
        });
        assert!(stream.next_event().is_err(), "the stream has ended");
        server.restart();
        assert_eq!(server.pc("PC-01")["device_count"], 1);
    }
}

/// S7, I1, N21: with a store of its own a server names itself as the leader and makes links to itself: by `--advertise`, else
/// by where it listens. A caller's `Host` changes neither.
#[test]
fn a_server_goes_by_its_advertised_url() {
    let leader = |server: &Server| {
        let request = Request::new("GET", "/api/v1/status").header("host", "6.6.6.6");
        server.admin().send(request).expect(200)["leader"].as_str().unwrap().to_owned()
    };
    let plain = Server::start();
    assert_eq!(leader(&plain), plain.anonymous().url());
    let advertised = ServerSetup::new(&[]).args(&["--advertise", "http://muster.example:7400"]).start();
    assert_eq!(leader(&advertised), "http://muster.example:7400");
    let node = FakeNode::enrolled(advertised.node(), "PC-01", 1);
    let _ = advertised.submit(&json!({"workflow_id": "w", "params": {}}));
    let job = node.job();
    let ask = node.upload_request(&job, 1);
    let request = Request::new("POST", "/api/nodes/artifacts").header("host", "6.6.6.6").json(&ask);
    let offer = advertised.node().send(request).expect(200);
    let link = offer["public_url"].as_str().unwrap();
    assert!(link.starts_with("http://muster.example:7400/api/artifacts/"), "{link}");
}

/// I1: a second server on the same data directory refuses with a clear message; the first goes on.
#[test]
fn a_data_directory_has_one_server() {
    let mut server = Server::start();
    let second =
        run(muster_command().args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(server.data()));
    second.refused(1, "in use by another muster server");
    assert_eq!(second.stdout, "");
    assert_eq!(server.anonymous().get("/healthz").status, 200);
    server.kill9_and_restart();
    assert_eq!(server.anonymous().get("/readyz").status, 200, "a dead server's lock holds nobody off");
}

/// I1: the one line on stdout says the real port, and nothing else is printed there.
#[test]
fn one_line_says_where() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = muster_command()
        .args(["serve", "--listen", "127.0.0.1:0", "--data"])
        .arg(directory.path())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut reader = std::io::BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    std::io::BufRead::read_line(&mut reader, &mut line).unwrap();
    let address: std::net::SocketAddr =
        line.strip_prefix("listening on http://").unwrap().strip_suffix('\n').unwrap().parse().unwrap();
    assert_ne!(address.port(), 0);
    let id = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(std::io::read_to_string(reader).unwrap(), "");
}

/// I1: any death is as safe as a stop: what was acknowledged is there after either.
#[test]
fn what_was_acknowledged_survives() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 3);
    let run = server.submit(&json!({"workflow_id": "w", "params": {"k": 1}, "title": "t"}));
    let jobs = node.jobs(2);
    node.succeed(&jobs[0]);
    node.tell(&Event::started("PC-01", &jobs[1]));
    let before = server.database().dump(&["meta"]);
    for gently in [true, false, false] {
        if gently {
            assert_eq!(server.terminate().code(), Some(0));
        } else {
            server.kill9();
        }
        server.restart();
        assert_eq!(server.database().dump(&["meta"]), before);
        assert_eq!(server.rows(&run).len(), 2);
    }
    node.tell(&Event::succeeded("PC-01", &jobs[1]));
    node.succeed(&node.job());
    assert_eq!(server.run(&run)["status"], "success");
}

/// I1: an address that is taken or none is refused in words that say what to do.
#[test]
fn an_address_that_cannot_be_had_is_refused() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let taken = server.anonymous().url().replace("http://", "");
    for listen in [taken.as_str(), "nowhere", "127.0.0.1:99999"] {
        let refused =
            run(muster_command().args(["serve", "--listen", listen, "--data"]).arg(directory.path()));
        assert!(
            [1, 2].contains(&refused.code) && refused.stderr.contains("--listen"),
            "{listen}: {refused:?}"
        );
    }
}

fn config(file: Option<&str>, variables: &[(&str, &str)]) -> Ended {
    let directory = tempfile::tempdir().unwrap();
    let mut command = muster_command();
    command.args(["config", "--json"]).envs(variables.iter().copied());
    if let Some(text) = file {
        fs::write(directory.path().join("muster.toml"), text).unwrap();
        command.arg("--config").arg(directory.path().join("muster.toml"));
    }
    run(&mut command)
}

/// I10: the pinned names have the pinned defaults.
#[test]
fn the_pinned_names_are_there() {
    let settings = config(None, &[]).json();
    for (key, expected) in [
        ("operations.slots", json!(20)),
        ("operations.attempt_timeout_s", json!(1200)),
        ("operations.max_attempts", json!(3)),
        ("operations.offline_grace_s", json!(120)),
        ("nodes.offline_after_s", json!(30)),
        ("nodes.redeliver_after_s", json!(15)),
        ("nodes.lease_s", json!(300)),
        ("nodes.secret_overlap_s", json!(3600)),
        ("leadership.lease_ms", json!(3000)),
        ("simulation.rebind", json!("reassign")),
        ("server.body_limit_bytes", json!(1_048_576)),
        ("retention.history_days", json!(30)),
        ("retention.event_id_days", json!(90)),
    ] {
        assert_eq!(settings[key]["value"], expected, "{key}");
    }
}

/// I10: defaults, then the file, then the environment, then flags; fractions of a second are allowed.
#[test]
fn later_sources_win() {
    let file = "[nodes]\nlease_s = 7\noffline_after_s = 0.5\n[operations]\nslots = 4\n";
    let settings = config(Some(file), &[("MUSTER_NODES__LEASE_S", "8.5")]).json();
    assert_eq!(settings["nodes.lease_s"]["value"], 8.5);
    assert_eq!(settings["nodes.offline_after_s"]["value"], 0.5);
    assert_eq!(settings["operations.slots"]["value"], 4);
    assert_eq!(settings["operations.max_attempts"]["value"], 3);
    // The harness gives --listen as a flag, so the variable must lose.
    let server = Server::with(&[
        ("MUSTER_SERVER__LISTEN", "256.0.0.1:1"),
        ("MUSTER_SERVER__BODY_LIMIT_BYTES", "2000"),
    ]);
    let long = json!({"workflow_id": "w", "params": {"x": "x".repeat(2000)}});
    let _ = server.admin().post("/api/runs", &long).problem(413);
}

/// I10: an unknown key is refused with the near one, in a file and in the environment; other variables are not ours.
#[test]
fn an_unknown_key_is_refused_with_a_suggestion() {
    config(Some("[nodes]\nlease_secs = 1\n"), &[]).refused(2, "did you mean nodes.lease_s?");
    config(None, &[("MUSTER_OPERATION__SLOTS", "1")]).refused(2, "did you mean MUSTER_OPERATIONS__SLOTS?");
    config(Some("[nodes]\nlease_s = \"long\"\n"), &[]).refused(2, "nodes.lease_s");
    config(None, &[("MUSTER_OPERATIONS__SLOTS", "-1")]).refused(2, "operations.slots");
    config(Some("[nodes\n"), &[]).refused(2, "muster.toml");
    assert_eq!(config(None, &[("MUSTER_WHATEVER", "1"), ("OTHER__THING", "1")]).code, 0);
    let mut serve = muster_command();
    serve.args(["serve", "--listen", "127.0.0.1:0", "--data", "/nonexistent"]);
    run(serve.env("MUSTER_NODES__LEASE", "1")).refused(2, "did you mean MUSTER_NODES__LEASE_S?");
}

/// I10: the log can be for machines.
#[test]
fn the_log_can_be_json() {
    let server = Server::with(&[("MUSTER_SERVER__LOG_FORMAT", "json")]);
    let _ = server.admin().get("/api/runs");
    for line in server.log().lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        assert!(entry["timestamp"].is_string() && entry["level"].is_string(), "{line}");
    }
}

/// I6: generated secrets are files for their owner only, kept over a restart, named but never shown.
#[test]
fn generated_secrets_are_kept_and_not_shown() {
    let mut server = Server::with(&[("MUSTER_LOG", "trace")]);
    let secrets = [server.node_secret(), server.admin_token()];
    assert_ne!(secrets[0], secrets[1]);
    for file in ["node-secret", "admin-token"] {
        let path = server.data().join(file);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(server.log().contains(file), "named in the log");
    }
    assert_eq!(fs::metadata(server.data()).unwrap().permissions().mode() & 0o077, 0);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let rotated = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
    let own = rotated["secret"].as_str().unwrap();
    let _ = server
        .anonymous()
        .with_token(own)
        .post("/api/nodes/pull", &json!({"node_id": "PC-01", "max_jobs": 0}));
    let refused =
        Request::new("POST", &format!("/api/runs?token={}", secrets[1])).header("x-secret", &secrets[1]);
    let refused = server.admin().send(refused.json(&json!({"workflow_id": secrets[1], "x": 1})));
    let metrics = server.admin().get("/metrics").text();
    let line = fs::read(format!("/proc/{}/cmdline", server.id())).unwrap();
    server.kill9_and_restart();
    assert_eq!([server.node_secret(), server.admin_token()], secrets);
    for secret in secrets.iter().map(String::as_str).chain([own]) {
        assert!(!server.log().contains(secret), "in the log");
        assert!(!metrics.contains(secret), "in the metrics");
        assert!(!String::from_utf8_lossy(&line).contains(secret), "in ps");
        assert!(!refused.text().contains(secret), "in an error: {}", refused.text());
    }
}

/// I6: secrets of the environment win over files, are not written down, and must be worth the name.
#[test]
fn secrets_of_the_environment_win() {
    let (node, admin) = ("node-secret-of-the-environment", "admin-token-of-the-environment");
    let server = Server::with(&[("NODE_AGENT_SHARED_SECRET", node), ("MUSTER_ADMIN_TOKEN", admin)]);
    assert!(!server.data().join("node-secret").exists() && !server.data().join("admin-token").exists());
    let caller = |token: &str| server.anonymous().with_token(token);
    assert_eq!(caller(admin).get("/api/runs").status, 200);
    assert_eq!(caller(node).get("/api/nodes/pull?node_id=PC-01").status, 200);
    assert!(!server.log().contains(node) && !server.log().contains(admin));
    for (name, value) in
        [("NODE_AGENT_SHARED_SECRET", "short"), ("MUSTER_ADMIN_TOKEN", ""), ("MUSTER_ADMIN_TOKEN", node)]
    {
        let directory = tempfile::tempdir().unwrap();
        let mut command = muster_command();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(directory.path());
        let output = run(command.env("NODE_AGENT_SHARED_SECRET", node).env(name, value));
        assert_eq!(output.code, 2, "{name}={value}");
        let words = output.stderr;
        assert!(!words.contains(node) && !words.contains("=short"), "{words}");
    }
}
