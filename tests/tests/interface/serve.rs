//! Starting and stopping: I1.

use muster_tests::{Event, FakeNode, Request, Server, ServerSetup, muster_command, now_ms, until};
use serde_json::json;
use std::thread;

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
            until("the pull waits", || {
                let counts = server.admin().get("/metrics").text();
                counts.contains("\nmuster_waiting_pulls 1\n").then_some(())
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
    let ask = json!({"node_id": "PC-01", "task_id": job["task_id"], "attempt": job["attempt"],
        "lease_token": job["lease"]["token"], "kind": "screenshot", "content_type": "image/png", "size": 1});
    let request = Request::new("POST", "/api/nodes/artifacts").header("host", "6.6.6.6").json(&ask);
    let offer = advertised.node().send(request).expect(200);
    let link = offer["public_url"].as_str().unwrap();
    assert!(link.starts_with("http://muster.example:7400/api/artifacts/"), "{link}");
}

/// I1: a second server on the same data directory refuses with a clear message; the first goes on.
#[test]
fn a_data_directory_has_one_server() {
    let mut server = Server::start();
    let second = || {
        muster_command()
            .args(["serve", "--listen", "127.0.0.1:0", "--data"])
            .arg(server.data())
            .output()
            .unwrap()
    };
    let refused = second();
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(1), 0));
    let words = String::from_utf8(refused.stderr).unwrap();
    assert!(words.contains("in use by another muster server"), "{words}");
    assert_eq!(server.anonymous().get("/healthz").status, 200);
    server.kill9();
    server.restart();
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
    for (listen, code) in [(taken.as_str(), 1), ("nowhere", 1), ("127.0.0.1:99999", 1)] {
        let output = muster_command()
            .args(["serve", "--listen", listen, "--data"])
            .arg(directory.path())
            .output()
            .unwrap();
        let words = String::from_utf8(output.stderr).unwrap();
        assert!(words.contains("--listen"), "{words}");
        assert!([Some(code), Some(2)].contains(&output.status.code()), "{listen}: {words}");
    }
}
