//! Health, metrics, the description, the offline docs and the feed (I8, I10).

use muster_tests::{EventStream, FakeNode, FeedEvent, Request, Server};
use serde_json::{Value, json};

/// I8, I7: metrics need a token unless a setting opens them.
#[test]
fn metrics_need_a_token() {
    let server = Server::start();
    assert_eq!(server.anonymous().get("/metrics").status, 401);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let metrics = server.admin().get("/metrics");
    assert_eq!(metrics.status, 200);
    let text = metrics.text();
    assert!(text.contains("# TYPE") && text.ends_with("# EOF\n"), "{text}");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let (_, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    assert!(!text.contains("PC-01"), "no names of devices or nodes");
    let open = Server::with(&[("MUSTER_SERVER__PUBLIC_METRICS", "true")]);
    assert_eq!(open.anonymous().get("/metrics").status, 200);
}

/// I8: the page of the description loads nothing from elsewhere, and could not.
#[test]
fn the_docs_work_offline() {
    let server = Server::start();
    let page = server.anonymous().get("/docs");
    assert_eq!(page.status, 200);
    let text = page.text();
    for attribute in ["src=\"", "href=\""] {
        for value in text.split(attribute).skip(1) {
            let target = value.split('"').next().unwrap();
            let is_ours =
                target.starts_with("data:") || (target.starts_with('/') && !target.starts_with("//"));
            assert!(is_ours, "{target}");
            if target.starts_with('/') {
                assert_eq!(server.anonymous().get(target).status, 200, "{target}");
            }
        }
    }
    assert!(!text.contains("@import") && !text.contains("url("));
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && !policy.contains("http"), "{policy}");
}

fn after(server: &Server, last: u64) -> EventStream {
    let request = Request::new("GET", "/api/events").header("Last-Event-ID", &last.to_string());
    server.admin().stream(request).unwrap()
}

fn take(stream: &mut EventStream, count: usize) -> Vec<FeedEvent> {
    (0..count).map(|_| stream.next_event().unwrap()).collect()
}

/// I8: the feed tells everything in order, and `Last-Event-ID` goes on without a gap, across a kill -9.
#[test]
fn the_feed_resumes_over_a_kill() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let before = take(&mut after(&server, 0), 5);
    assert_eq!(before.iter().map(|event| event.id).collect::<Vec<_>>(), [1, 2, 3, 4, 5]);
    server.kill9();
    server.restart();
    assert_eq!(take(&mut after(&server, 0), 5), before, "the same after the restart");
    let mut stream = after(&server, 2);
    assert_eq!(take(&mut stream, 3), before[2..]);
    for job in node.jobs(2) {
        node.succeed(&job);
    }
    let mut last = 5;
    loop {
        let event = stream.next_event().unwrap();
        assert_eq!(event.id, last + 1, "{event:?}");
        last = event.id;
        let data: Value = serde_json::from_str(&event.data).unwrap();
        if event.kind == "job_ended" {
            assert_eq!((&data["job"], &data["status"]), (&json!(run), &json!("success")));
            break;
        }
    }
    assert_eq!(take(&mut after(&server, last - 1), 1)[0].kind, "job_ended");
}

/// I1, I8, N3: the line is printed when all is ready: the feed resumes and nodes' own secrets work from then on.
#[test]
fn who_comes_with_the_first_line_is_served() {
    let mut server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 500);
    let rotated = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
    let own = server.anonymous().with_token(rotated["secret"].as_str().unwrap());
    let last = server.database().count("SELECT max(first_seq + count - 1) FROM feed");
    for _ in 0..5 {
        server.kill9();
        server.restart();
        let _ = after(&server, last.unsigned_abs());
        assert_eq!(own.get("/api/nodes/pull?node_id=PC-01").status, 200);
        assert_eq!(server.anonymous().get("/readyz").status, 200);
    }
}

/// I8: without a number the stream begins with what comes next; a number there never was is refused.
#[test]
fn the_feed_begins_where_asked() {
    let server = Server::start();
    let _ = server.submit(&json!({"workflow_id": "w", "params": {}}));
    let mut stream = server.admin().stream(Request::new("GET", "/api/events")).unwrap();
    let _ = server.submit(&json!({"workflow_id": "second", "params": {}}));
    let event = stream.next_event().unwrap();
    assert!(event.kind == "job_submitted" && event.data.contains("second"), "{event:?}");
    for wrong in ["-1", "x", "1.5", "99999999999999999999999"] {
        let request = Request::new("GET", "/api/events").header("Last-Event-ID", wrong);
        let _ = server.admin().send(request).problem(422);
    }
    let _ = server.admin().get("/api/events?after=999999").problem(410);
}
