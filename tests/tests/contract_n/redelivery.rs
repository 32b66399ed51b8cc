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

/// N2: what was confirmed does not come again, whether by `task_started` or by an RPC claim.
#[test]
fn a_confirmed_job_does_not_come_again() {
    let server = Server::with(&[("MUSTER_NODES__REDELIVER_AFTER_S", "0.1")]);
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let _ = server.submit(&run());
    node.tell(&Event::started("PC-01", &node.job()));
    let claim = json!({"runner_pc_name": "PC-01", "max_to_claim": 5});
    let rows = server.node().post("/rest/v1/rpc/claim_task_devices_for_pc", &claim).expect(200);
    assert_eq!(rows.as_array().unwrap().len(), 1);
    for _ in 0..3 {
        assert_eq!(node.wait(5, 150)["jobs"], json!([]));
    }
}

/// N2: `run_id` is `tasks.id` and `task_id` is `task_devices.id`; both stay the same over retries.
#[test]
fn ids_stay_the_same_over_retries() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let first = node.job();
    assert_eq!(first["run_id"], *run);
    let database = server.database();
    assert_eq!(database.column("SELECT id FROM tasks"), [run.as_str()]);
    assert_eq!(database.column("SELECT id FROM task_devices"), [first["task_id"].as_str().unwrap()]);
    node.fail(&first);
    let second = node.job();
    assert_eq!((&second["task_id"], &second["run_id"]), (&first["task_id"], &first["run_id"]));
    assert_eq!(second["attempt"], 2);
    assert_ne!(second["lease"]["token"], first["lease"]["token"]);
}
