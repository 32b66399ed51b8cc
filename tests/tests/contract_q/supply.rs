//! How rows come into being: Q3, Q4, Q5.

use crate::{run, run_in};
use muster_tests::{FakeNode, Server};
use serde_json::{Value, json};

/// Q21: `running_count`, `eligible_device_count` and `target` of a PC, as Q3 defines them; without an active run nothing is
/// eligible.
#[test]
fn a_pc_shows_its_target() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 30);
    let figures = || {
        let listed = server.admin().get("/api/pcs").expect(200)["pcs"][0].clone();
        let alone = server.pc("PC-01");
        ["running_count", "eligible_device_count", "target"].map(|field| {
            assert_eq!(listed[field], alone[field], "{field}");
            listed[field].as_u64().unwrap()
        })
    };
    assert_eq!(figures(), [0, 0, 0]);
    let run = server.submit(&run());
    assert_eq!(figures(), [0, 30, 20]);
    let jobs = node.jobs(19);
    assert_eq!(figures(), [19, 11, 20]);
    node.succeed(&jobs[0]);
    assert_eq!(figures(), [18, 11, 20]);
    let _ = server.admin().patch("/api/pcs/PC-01", &json!({"max_devices": 18})).expect(200);
    assert_eq!(figures(), [18, 11, 18]);
    let _ = server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200);
    assert_eq!(figures(), [18, 0, 18]);
}
