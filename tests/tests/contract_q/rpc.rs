//! The RPCs, as PostgREST's clients call them: Q14.

use crate::{cancel, run, run_in};
use muster_tests::{Answer, Client, Event, FakeNode, Request, Server, until};
use serde_json::{Value, json};

fn call(client: &Client, function: &str, args: &Value) -> Answer {
    client.post(&format!("/rest/v1/rpc/{function}"), args)
}

fn claim(server: &Server, args: &Value) -> Vec<Value> {
    call(&server.node(), "claim_task_devices_for_pc", args).expect(200).as_array().unwrap().clone()
}

/// Q14, N2: a row that was pulled can be ended over RPC, and one that was claimed by a callback.
#[test]
fn pulls_and_rpcs_speak_of_the_same_rows() {
    let server = Server::start();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let run = server.submit(&run());
    let job = node.job();
    let claimed = claim(&server, &json!({"runner_pc_name": "PC-01"})).remove(0);
    let _ = call(&server.node(), "complete_task_device", &json!({"p_task_device_id": job["task_id"]}))
        .expect(200);
    let as_job = json!({"task_id": claimed["id"], "run_id": claimed["task_id"], "device_id": claimed["device_id"],
        "runtime_handle": "x"});
    node.tell(&Event::succeeded("PC-01", &as_job).without_fence());
    assert_eq!(server.run(&run)["status"], "success");
}

/// Q14: a running row of a cancelled run ends cancelled, whatever its holder says.
#[test]
fn a_cancelled_row_ends_cancelled() {
    let server = Server::start();
    let _ = FakeNode::enrolled(server.node(), "PC-01", 1);
    let run = server.submit(&run());
    let row = claim(&server, &json!({"runner_pc_name": "PC-01"})).remove(0)["id"].clone();
    cancel(&server, &run);
    let ended = call(&server.node(), "complete_task_device", &json!({"p_task_device_id": row})).expect(200);
    assert_eq!(ended["status"], "cancelled");
}
