//! One active run per queue and its end: Q2, Q6, Q7.

use crate::{cancel, run, run_in};
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::json;

/// Q2, Q7: at most one run of a queue is active, always the oldest unfinished; its end activates the next at once.
#[test]
fn the_oldest_run_of_a_queue_is_active() {
    let mut server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let runs: Vec<String> = (0..3).map(|_| server.submit(&run())).collect();
    let other = server.submit(&run_in("night", 3));
    let active = |server: &Server| {
        server.database().column("SELECT id FROM tasks WHERE status = 'running' ORDER BY seq")
    };
    assert_eq!(active(&server), [&*runs[0], &*other]);
    assert_eq!(server.database().column("SELECT queue FROM tasks WHERE seq = 1"), ["default"]);
    server.kill9();
    server.restart();
    assert_eq!(active(&server), [&*runs[0], &*other]);
    cancel(&server, &runs[0]);
    assert_eq!(active(&server), [&*runs[1], &*other]);
    cancel(&server, &runs[2]);
    let job = node.job();
    node.succeed(&job);
    let next = node.job();
    node.succeed(&next);
    let statuses = server.database().column("SELECT status FROM tasks ORDER BY seq");
    assert_eq!(statuses, ["cancelled", "success", "cancelled", "success"]);
}
