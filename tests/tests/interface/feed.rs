//! The feed: I8.

use muster_tests::{EventStream, FakeNode, FeedEvent, Request, Server};
use serde_json::{Value, json};

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
