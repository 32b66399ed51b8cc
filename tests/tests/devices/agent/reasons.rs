//! N13: every reason a task can fail for, each from its real cause.

use crate::agent::{
    SHIPPED,
    Backend, CALLBACK, job,
    workshop::{Workshop, step, step_with},
};
use muster_tests::{AdbDevice, AdbServer, Agent, AgentSetup, FAILURE_REASONS, VendorReply, VendorServer};
use serde_json::{Value, json};
use std::{collections::BTreeSet, net::TcpListener};

/// A failed task: what is expected to be its reason and part of its error, and what was told of it.
struct Failed {
    reason: &'static str,
    error: &'static str,
    told: Value,
}

/// N13: each reason has a cause that brings it about, and the error says what happened.
#[test]
fn every_reason_has_a_cause() {
    let failed = [on_phones(), without_adb(), at_the_vendors(), in_programs(), with_reports_refused()];
    let mut seen = BTreeSet::new();
    for Failed { reason, error, told } in failed.into_iter().flatten() {
        assert_eq!((&told["status"], &told["failure_reason"]), (&json!("failed"), &json!(reason)), "{told}");
        let message = told["error_message"].as_str().unwrap();
        assert!(message.contains(error), "{reason}: {message}");
        assert_eq!(told.get("artifact"), None);
        seen.insert(reason);
    }
    assert_eq!(seen, FAILURE_REASONS.into());
}

fn on_phones() -> Vec<Failed> {
    let backend = Backend::start();
    let adb = AdbServer::start();
    let (locked, gone, asleep) =
        (AdbDevice::locked("LOCKED"), AdbDevice::start("GONE"), AdbDevice::start("ASLEEP"));
    let (blind, good, silent) = (AdbDevice::start("BLIND"), AdbDevice::start("GOOD"), AdbDevice::silent());
    let handles = [&locked, &gone, &blind, &good].map(|device| adb.connect(device));
    blind.set_screen(b"no picture");
    gone.vanish();
    let [off, booting] = [&silent, &asleep].map(|device| adb.connect_emulator(device));
    for (handle, state) in [
        (&handles[0], "unauthorized"),
        (&handles[1], "offline"),
        (&handles[2], "device"),
        (&handles[3], "device"),
        (&off, "offline"),
        (&booting, "device"),
    ] {
        adb.wait_for(handle, state);
    }
    let setup = AgentSetup::new(&backend.url(), "PC-01").devices("adb");
    let _agent = setup.env("ANDROID_ADB_SERVER_PORT", &adb.port().to_string()).start();
    let cases = [
        ("needs_usb_authorization", &*handles[0], "PREFLIGHT: 127.0.0.1:"),
        ("adb_offline", &handles[1], "is offline"),
        ("screenshot_error", "BLIND", "SCREENSHOT: screencap gave no PNG: it begins with \"no picture\""),
        ("upload_error", "GOOD", "UPLOAD: the request for an address was answered 404: nothing is here"),
        ("emulator_not_online", &off, "is offline"),
        ("emulator_not_booted", &booting, "has not finished booting"),
    ];
    execute(&backend, &cases.map(|(reason, device, error)| (reason, job(reason, device, SHIPPED), error)))
}

fn without_adb() -> Vec<Failed> {
    let backend = Backend::start();
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let setup = AgentSetup::new(&backend.url(), "PC-02").devices("adb").env("PATH", "/nonexistent");
    let _agent = setup.env("ANDROID_ADB_SERVER_PORT", &free.to_string()).start();
    execute(&backend, &[("adb_missing", job("adb_missing", "SER1", SHIPPED), "adb cannot be run")])
}

fn at_the_vendors() -> Vec<Failed> {
    let backend = Backend::start();
    let vendor = VendorServer::start(|request| match request["action"].as_str() {
        Some("list") => VendorReply::Text(json!({"code": 10000, "data": [{"serial": "SER1"}]}).to_string()),
        Some("hang up") => VendorReply::Crash,
        _ => VendorReply::Text(json!({"code": 10001, "message": "device is busy"}).to_string()),
    });
    let asks = |action: &str| {
        format!("[[steps]]\nid = 'ASK'\nkind = 'vendor'\naction = '{action}'\ntimeoutMs = 9000")
    };
    let workshop =
        Workshop::new(&[]).workflow("hang_up_v1", &asks("hang up")).workflow("refuse_v1", &asks("refuse"));
    let setup = AgentSetup::new(&backend.url(), "PC-03").devices(&format!("vendor:{}", vendor.url()));
    let _agent = setup.args(&["--workflows", workshop.workflows().to_str().unwrap()]).start();
    execute(
        &backend,
        &[
            ("vendor_ws_error", job("vendor_ws_error", "SER1", "hang_up_v1"), "lost before it answered"),
            (
                "vendor_command_error",
                job("vendor_command_error", "SER1", "refuse_v1"),
                "10001: device is busy",
            ),
        ],
    )
}

fn in_programs() -> Vec<Failed> {
    let backend = Backend::start();
    let critical = "timeoutMs = 9000\nonFailure = 'continue'\nparams = { critical = true }";
    let (_workshop, _agent) = programs(
        &backend,
        &[
            ("bootstrap_v1", step_with("BOOTSTRAP", &["false"], critical)),
            ("login_v1", step_with("LOGIN_FLOW", &["sleep", "60"], "timeoutMs = 300")),
            ("broken_v1", step("WORK", &["sh", "-c", "echo broken >&2; exit 3"])),
        ],
    );
    let case = |reason, workflow, error| (reason, job(reason, "d1", workflow), error);
    execute(
        &backend,
        &[
            case("bootstrap_critical_failed", "bootstrap_v1", "BOOTSTRAP: false ended with 1"),
            case("login_flow_timeout", "login_v1", "timeout: LOGIN_FLOW took longer than 300 ms"),
            case("unknown", "broken_v1", "WORK: sh ended with 3: broken"),
        ],
    )
}

fn with_reports_refused() -> Vec<Failed> {
    let backend = Backend::start();
    backend.rule(|path, body| {
        let told = &body["payload"];
        let is_it = path == CALLBACK && told["task_id"] == "callback_error" && told["step"] == "WORK";
        is_it.then(|| (422, json!({"title": "Unprocessable", "detail": "no such step"})))
    });
    let (_workshop, _agent) = programs(&backend, &[("long_v1", step("WORK", &["sleep", "60"]))]);
    let job = job("callback_error", "d1", "long_v1");
    execute(&backend, &[("callback_error", job, "the backend refused it with 422: no such step")])
}

/// An agent with one device and workflows of programs.
fn programs(backend: &Backend, workflows: &[(&str, String)]) -> (Workshop, Agent) {
    let empty = Workshop::new(&["d1"]);
    let workshop = workflows.iter().fold(empty, |workshop, (id, steps)| workshop.workflow(id, steps));
    let agent = workshop.equip(AgentSetup::new(&backend.url(), "PC-04")).start();
    (workshop, agent)
}

/// Hands out jobs whose task is named after the reason that is expected, and waits for their ends.
fn execute(backend: &Backend, cases: &[(&'static str, Value, &'static str)]) -> Vec<Failed> {
    cases.iter().for_each(|(_, job, _)| backend.offer(job.clone()));
    let ends =
        cases.iter().map(|(reason, _, error)| Failed { reason, error, told: backend.finished(reason) });
    ends.collect()
}
