//! Lost answers: N2.

use crate::run;
use muster_tests::{Event, FakeNode, Server, until};
use serde_json::json;

/// N2, N1b: a job never confirmed comes again to the same node: same ids, same attempt, same clock; so does its run.
#[test]
fn an_unconfirmed_job_comes_again() {
    let mut server = Server::with(&[("MUSTER_NODES__REDELIVER_AFTER_S", "0.2")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let first = node.pull(5);
    let job = &first["jobs"][0];
    let timeout_at = server.rows(&run)[0]["timeout_at"].clone();
    for restart in [false, true, false] {
        if restart {
            server.kill9();
            server.restart();
        }
        let again = until("the job comes again", || {
            let answer = node.pull(5);
            (answer["jobs"] != json!([])).then_some(answer)
        });
        assert_eq!(again["runs"], first["runs"]);
        for key in ["task_id", "run_id", "device_id", "attempt", "params"] {
            assert_eq!(again["jobs"][0][key], job[key], "{key}");
        }
        assert_eq!(again["jobs"][0]["lease"]["token"], job["lease"]["token"]);
    }
    assert_eq!(server.rows(&run)[0]["timeout_at"], timeout_at, "redelivery does not restart the clock");
    let sent = |entries: Vec<(u64, String)>| entries.into_iter().filter(|(_, word)| word == "SENT").count();
    assert_eq!(sent(server.history(job["task_id"].as_str().unwrap())), 1);
    assert_eq!(FakeNode::enrolled(server.node(), "PC-02", 1).jobs(5)[0]["device_id"], "PC-02-d1");
}
