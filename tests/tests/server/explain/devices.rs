//! Runs, devices, rows, nodes, schedules.

use crate::explain::Planted;
use muster_tests::{Event, FakeNode};
use serde_json::{Value, json};

pub(crate) fn plant(planted: &Planted<'_>) {
    let server = planted.server;
    let admin = server.admin();
    let node = FakeNode::enrolled(server.node(), "PC-01", 2);
    let silent = FakeNode::enrolled(server.node(), "PC-02", 1);
    let check = |kind: &str, id: &str, code: &'static str| {
        let _ = node.report();
        planted.check(kind, id, code)
    };
    check("node", "PC-01", "no_work");
    let one = server.submit(&scoped(&json!({"pcs": ["PC-01"]}), "default"));
    let two = server.submit(&scoped(&json!({"pcs": ["PC-01"]}), "default"));
    assert_eq!(check("run", &two, "queued_behind")["run_id"], *one);
    assert_eq!(check("run", &one, "awaiting_pull")["node_id"], "PC-01");
    let _ = silent.report();
    check("device", "PC-02-d1", "out_of_scope");
    let three = server.submit(&scoped(&json!({"pcs": ["PC-02"]}), "default"));
    assert_eq!(check("node", "PC-02", "work_queued_behind")["run_id"], *three);
    cancel(planted, &three);
    let _ = admin.post("/api/nodes/PC-01/drain", &json!({})).expect(200);
    check("run", &one, "node_draining");
    let _ = admin.post("/api/nodes/PC-01/resume", &json!({})).expect(200);
    let _ = admin.patch("/api/pcs/PC-01", &json!({"max_devices": 1})).expect(200);
    let job = node.job();
    let task = job["task_id"].as_str().unwrap();
    check("task_device", task, "awaiting_redelivery");
    node.tell(&Event::started("PC-01", &job));
    check("task_device", task, "running");
    check("device", "PC-01-d2", "no_slot");
    let device = job["device_id"].as_str().unwrap();
    let other = server.submit(&scoped(&json!({"devices": [device]}), "b"));
    assert_eq!(check("run", &other, "lane_busy")["task_device_id"], task);
    cancel(planted, &other);
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    check("task_device", task, "awaiting_retry");
    node.succeed(&node.job());
    check("device", "PC-01-d2", "already_served");
    node.succeed(&node.job());
    check("run", &one, "ended");
    let job = node.job();
    node.tell(&Event::started("PC-01", &job));
    cancel(planted, &two);
    check("task_device", job["task_id"].as_str().unwrap(), "stopping");
    node.tell(&Event::failed("PC-01", &job, "unknown"));
    let nowhere = server.submit(&scoped(&json!({"devices": ["nobody"]}), "c"));
    check("run", &nowhere, "waiting_for_devices");
    cancel(planted, &nowhere);
    break_device(planted, &node);
    let _ = admin.patch("/api/pcs/PC-01", &json!({"max_devices": 20})).expect(200);
    drop_out(planted);
    planted.wait("node", "PC-02", "node_offline");
    let schedule = json!({"cron": "0 0 29 2 *", "timezone": "UTC", "missed": "skip", "run": {"workflow_id": "w", "params": {}}});
    let made = admin.post("/api/schedules", &schedule).expect(201);
    check("schedule", made["schedule_id"].as_str().unwrap(), "schedule_waiting");
}

fn break_device(planted: &Planted<'_>, node: &FakeNode) {
    let run = planted.server.submit(
        &json!({"workflow_id": "w", "params": {}, "scope": {"pcs": ["PC-01"]}, "queue": "d", "max_attempts": 1}),
    );
    let job = node.job();
    node.fail(&job);
    planted.check("device", job["device_id"].as_str().unwrap(), "device_error");
    cancel(planted, &run);
}

/// A hub of ten devices is unplugged, and one more was missing before.
fn drop_out(planted: &Planted<'_>) {
    let node = FakeNode::enrolled(planted.server.node(), "PC-03", 12);
    let left = json!([node.listed()[0].clone()]);
    let _ = node.ask(&json!({"node_id": "PC-03", "max_jobs": 0, "devices": left})).expect(200);
    planted.check("device", "PC-03-d3", "device_offline");
    planted.check("node", "PC-03", "supply_paused");
}

fn scoped(scope: &Value, queue: &str) -> Value {
    json!({"workflow_id": "w", "params": {}, "scope": scope, "queue": queue})
}

fn cancel(planted: &Planted<'_>, run: &str) {
    let _ = planted.server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({})).expect(200);
}
