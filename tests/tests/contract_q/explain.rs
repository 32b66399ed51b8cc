//! Why is this not running: Q16.

use crate::{cancel, run, run_in};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::{Value, json};

fn check(server: &Server, (kind, id): (&str, &str), (code, rule): (&str, &str)) -> Value {
    let why = server.admin().get(&format!("/api/explain/{kind}/{id}")).expect(200);
    assert_eq!((why["code"].as_str(), why["rule"].as_str()), (Some(code), Some(rule)), "{why}");
    assert_eq!((&why["kind"], &why["id"]), (&json!(kind), &json!(id)));
    let sentence = why["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("The ") && sentence.ends_with('.') && sentence.contains(id), "{sentence}");
    why["data"].clone()
}

/// Q16: what ended long ago is explained from the store, also after a restart.
#[test]
fn the_past_is_explained_too() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let job = node.job();
    node.succeed(&job);
    server.kill9();
    server.restart();
    assert_eq!(check(&server, ("run", &run), ("ended", "Q7"))["status"], "success");
    check(&server, ("task_device", job["task_id"].as_str().unwrap()), ("ended", "Q8"));
}
