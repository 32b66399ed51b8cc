//! Simulated devices, steered by a run's parameters.

use crate::{SHIPPED, counts, ended, enrolled, entered, fields, told};
use muster_tests::{Agent, Server};
use serde_json::{Value, json};

/// N13, N23: what a run's `simulate` says is what becomes of it; a task's own limit ends a step that hangs.
#[test]
fn simulated_devices_do_as_they_are_told() {
    let server = Server::start();
    let _agent = Agent::start(&server, "PC-01", "simulated:3");
    enrolled(&server, "PC-01", 3);
    let cases = [
        (
            json!({"fail_step": "LOGIN_FLOW", "failure_reason": "adb_offline"}),
            60_000,
            "adb_offline",
            "LOGIN_FLOW: simulated failure",
        ),
        (json!({"fail_step": "SCREENSHOT"}), 60_000, "screenshot_error", "SCREENSHOT: simulated failure"),
        (
            json!({"hang_step": "LOGIN_FLOW"}),
            1000,
            "login_flow_timeout",
            "timeout: the task took longer than 1000 ms, in LOGIN_FLOW",
        ),
        (
            json!({"hang_step": "PREFLIGHT"}),
            1000,
            "unknown",
            "timeout: the task took longer than 1000 ms, in PREFLIGHT",
        ),
        (
            json!({"fail_stp": "SCREENSHOT"}),
            60_000,
            "unknown",
            "PREFLIGHT: params.simulate: unknown field `fail_stp`",
        ),
    ];
    for (simulate, timeout, reason, error) in cases {
        let device = json!({"devices": ["sim-0002"]});
        let run = server
            .submit(&json!({"workflow_id": SHIPPED, "params": {"simulate": simulate}, "scope": device,
            "timeoutMs": timeout, "max_attempts": 1}));
        assert_eq!(counts(&ended(&server, &run)), (0, 1), "{simulate}");
        let finished = entered(&server, "task_finished");
        let last = fields(finished.last().unwrap());
        assert_eq!((&last["run_id"], &last["failure_reason"]), (&json!(run), &json!(reason)), "{last}");
        assert!(last["error_message"].as_str().unwrap().starts_with(error), "{last}");
        // A device that failed for good is out of service until somebody returns it.
        let _ = server.admin().post("/api/devices/sim-0002/return", &json!({})).expect(200);
    }
    let simulate = json!({"step_ms": 1, "fail_step": "UPLOAD", "fail_attempts": 1});
    let run = server.submit(&json!({"workflow_id": SHIPPED, "params": {"simulate": simulate}}));
    assert_eq!(counts(&ended(&server, &run)), (3, 0));
    for row in server.rows(&run) {
        assert_eq!(row["attempt"], 2);
        let told = told(&server, row["id"].as_str().unwrap());
        let ends: Vec<_> = told.iter().filter(|event| event.starts_with("task_finished")).collect();
        assert_eq!(ends, ["task_finished failed", "task_finished succeeded"]);
        let path = row["result"]["artifact"]["storage_path"].as_str().unwrap();
        let device = row["device_id"].as_str().unwrap();
        assert!(path.starts_with(&format!("videos/_/PC-01/{device}/{run}/")), "{path}");
    }
    assert_eq!(server.alerts(), Vec::<Value>::new());
}
