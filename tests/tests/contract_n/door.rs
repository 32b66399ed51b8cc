//! Who may speak: N3.

use muster_tests::{Client, Event, FakeNode, Request, Server, until};
use serde_json::json;

fn pull(client: &Client, node: &str) -> u16 {
    client.post("/api/nodes/pull", &json!({"node_id": node, "max_jobs": 0})).status
}

fn beat(client: &Client, node: &str) -> u16 {
    client.post("/api/nodes/callback", &Event::heartbeat(node).nested()).status
}

/// N3: a missing or wrong secret is refused with 401, and nothing is recorded.
#[test]
fn without_the_secret_nothing_is_recorded() {
    let server = Server::start();
    let secret = server.node_secret();
    let half = &secret[..secret.len() - 1];
    let longer = format!("{secret}x");
    for wrong in ["", "x", half, &longer, "ÿ", &"x".repeat(5000)] {
        assert_eq!(pull(&server.anonymous().with_token(wrong), "PC-01"), 401, "{wrong:.20}");
        assert_eq!(beat(&server.anonymous().with_token(wrong), "PC-01"), 401, "{wrong:.20}");
    }
    assert_eq!(pull(&server.anonymous(), "PC-01"), 401);
    let other_scheme =
        Request::new("POST", "/api/nodes/callback").header("authorization", &format!("Basic {secret}"));
    let answer = server.anonymous().send(other_scheme.json(&Event::heartbeat("PC-01").nested()));
    let _ = answer.problem(401);
    assert!(answer.header("www-authenticate").is_some());
    let in_apikey = Request::new("GET", "/api/nodes/pull?node_id=PC-01").header("apikey", &secret);
    let _ = server.anonymous().send(in_apikey).problem(401);
    assert_eq!(server.database().count("SELECT count(*) FROM pcs"), 0);
    assert_eq!(server.database().count("SELECT count(*) FROM node_events"), 0);
    assert_eq!(pull(&server.node(), "PC-01"), 200);
}

/// N3, Q15: a node's own secret speaks for that node only; the old one works on for a while beside the new.
#[test]
fn a_secret_of_its_own_speaks_for_one_node() {
    let mut server = Server::with(&[("MUSTER_NODES__SECRET_OVERLAP_S", "3600")]);
    for name in ["PC-01", "PC-02"] {
        let _ = FakeNode::enrolled(server.node(), name, 1);
    }
    let rotate = |server: &Server| {
        let answer = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
        assert_eq!(answer["node_id"], "PC-01");
        server.anonymous().with_token(answer["secret"].as_str().unwrap())
    };
    let first = rotate(&server);
    let second = rotate(&server);
    server.kill9();
    server.restart();
    for own in [&first, &second] {
        assert_eq!((pull(own, "PC-01"), beat(own, "PC-01")), (200, 200));
        assert_eq!((pull(own, "PC-02"), beat(own, "PC-02")), (401, 401), "another node's name");
        assert_eq!(own.get("/api/nodes/pull?node_id=PC-02").status, 401);
        assert_eq!(own.get("/api/pcs").status, 403);
    }
    assert_eq!(
        (pull(&server.node(), "PC-01"), pull(&server.node(), "PC-02")),
        (200, 200),
        "the shared one too"
    );
    let _ = server.admin().post("/api/nodes/PC-77/secret", &json!({})).problem(404);
}

/// N3: after the overlap the old secret is a wrong one.
#[test]
fn an_old_secret_ends_with_the_overlap() {
    let server = Server::with(&[("MUSTER_NODES__SECRET_OVERLAP_S", "0.3")]);
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let rotate = || {
        let answer = server.admin().post("/api/nodes/PC-01/secret", &json!({})).expect(200);
        server.anonymous().with_token(answer["secret"].as_str().unwrap())
    };
    let (old, new) = (rotate(), rotate());
    until("the old secret ends", || (pull(&old, "PC-01") == 401).then_some(()));
    assert_eq!(pull(&new, "PC-01"), 200);
    let kept = server.database().column("SELECT hex(sha256) FROM pc_secrets");
    assert!(kept.iter().all(|hash| hash.len() == 64), "only hashes are kept");
}
