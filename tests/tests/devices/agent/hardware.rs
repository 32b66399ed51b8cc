//! The agent on each kind of device: the shipped workflow, phones over adb, a vendor's program, simulated devices (N13, N21, N23).

use crate::agent::{
    Backend, SHIPPED, counts, ended, enrolled, entered, fields,
    outage::WHOLE,
    submit, told,
    workflows::{Workshop, step},
};
use muster_tests::{AdbDevice, AdbServer, Agent, AgentSetup, Server, VendorReply, VendorServer, now_ms};
use serde_json::{Value, json};
use std::net::TcpListener;

/// I11: the spool may be named by a path from where the agent was started; programs run elsewhere.
#[test]
fn a_spool_may_be_named_from_here() {
    let workshop = Workshop::new(&["d1"]).workflow("touch", &step("WORK", &["true"]));
    let server = Server::start();
    let up = "../".repeat(std::env::current_dir().unwrap().components().count() - 1);
    let spool = format!("{up}{}", workshop.path("spool").display().to_string().trim_start_matches('/'));
    let agent = AgentSetup::of(&server, "PC-01").spool(std::path::Path::new(&spool));
    let _agent = workshop.equip(agent).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, "touch", json!({}));
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
}

/// N21, N22: the agent reports a file under the `storage_path` of the workflow, and the server serves it from there.
#[test]
fn a_file_is_kept_where_the_workflow_says() {
    let steps = [
        "storage_path = 'pages/{device_id}/{run_id}-{attempt}.{ext}'\n",
        &step("WRITE", &["sh", "-c", "echo notes of $MUSTER_RUN_ID >artifact.txt"]),
        "[[steps]]\nid = 'NOTES'\nkind = 'upload'\ntimeoutMs = 30000\n",
    ];
    let workshop = Workshop::new(&["d1"]).workflow("pages_v1", &steps.concat());
    let server = Server::start();
    let _agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, "pages_v1", json!({}));
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    let path = format!("pages/d1/{run}-1.txt");
    assert_eq!(server.rows(&run)[0]["result"]["artifact"]["storage_path"], json!(path));
    let found = server.admin().get(&format!("/api/artifacts/{path}"));
    assert_eq!((found.status, found.text()), (200, format!("notes of {run}\n")));
}

/// N21, N23: the shipped workflow on a phone; its screenshot is found at the contract's path, byte for byte.
#[test]
fn a_screenshot_of_a_phone_is_found_again() {
    let (server, adb, device) = (Server::start(), AdbServer::start(), AdbDevice::start("R58M12ABCDE"));
    let handle = adb.connect(&device);
    let setup = AgentSetup::of(&server, "PC-01").devices("adb");
    let _agent = setup.env("ANDROID_ADB_SERVER_PORT", &adb.port().to_string()).start();
    enrolled(&server, "PC-01", 1);
    assert_eq!(server.device("R58M12ABCDE")["runtime_handle"], handle);
    let run = submit(&server, SHIPPED, json!({"youtubeVideoId": "dQw4w9WgXcQ"}));
    assert_eq!(counts(&ended(&server, &run)), (1, 0));

    let row = server.rows(&run).remove(0);
    assert_eq!(row["device_id"], "R58M12ABCDE");
    assert_eq!(told(&server, row["id"].as_str().unwrap()), WHOLE);
    let finished = entered(&server, "task_finished").remove(0);
    let finished = fields(&finished);
    assert_eq!(
        (&finished["device_id"], &finished["runtime_handle"]),
        (&json!("R58M12ABCDE"), &json!(handle))
    );
    let artifact = &finished["artifact"];
    assert_eq!((artifact, &artifact["kind"]), (&row["result"]["artifact"], &json!("screenshot")));
    let path = artifact["storage_path"].as_str().unwrap();
    let prefix = format!("videos/dQw4w9WgXcQ/PC-01/R58M12ABCDE/{run}/");
    let stamp: i64 =
        path.strip_prefix(&prefix).and_then(|rest| rest.strip_suffix(".png")).unwrap().parse().unwrap();
    assert!(stamp.abs_diff(now_ms()) < 600_000, "{path}");
    let link = artifact["public_url"].as_str().unwrap().strip_prefix(&server.anonymous().url()).unwrap();
    assert!(link.starts_with(&format!("/api/artifacts/{path}?")), "{link}");

    for found in [server.admin().get(&format!("/api/artifacts/{path}")), server.anonymous().get(link)] {
        assert_eq!((found.status, found.header("content-type")), (200, Some("image/png")));
        assert!(found.body == device.screen(), "the picture is another");
    }
    assert_eq!(server.anonymous().get(&format!("/api/artifacts/{path}")).status, 401);
    let opened = ["am", "start", "-W", "-a", "android.settings.SETTINGS"].map(str::to_owned);
    assert!(device.ran().contains(&opened.to_vec()), "{:?}", device.ran());
}

/// N1b, N23: a phone that comes, goes and must be allowed is told of without a restart, and gets work when it can.
#[test]
fn phones_come_and_go() {
    let (server, adb, device) = (Server::start(), AdbServer::start(), AdbDevice::locked("SER1"));
    let setup = AgentSetup::of(&server, "PC-01").devices("adb");
    let _agent = setup.env("ANDROID_ADB_SERVER_PORT", &adb.port().to_string()).start();
    let handle = adb.connect(&device);
    let attached = |id: &str, state: &str| {
        muster_tests::wait_until(&format!("{id} {state}"), || {
            let answer = server.admin().get(&format!("/api/devices/{id}"));
            answer.status == 200 && answer.json()["attachment"] == state
        });
    };
    attached(&handle, "unauthorized");
    device.allow();
    attached("SER1", "online");
    let run = server.submit(&json!({"workflow_id": SHIPPED, "scope": {"devices": ["SER1"]}}));
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    device.vanish();
    attached("SER1", "offline");
}

/// N23: a run with steps of a vendor's kind; devices go by their serial and are reached by what reaches them now.
#[test]
fn a_vendors_phones_do_as_they_are_told() {
    let vendor = vendor();
    let steps = "
        [[steps]]
        id = 'WAKE'
        kind = 'vendor'
        action = 'screen'
        params = { on = true, text = '{{TEXT}}' }
        timeoutMs = 9000
        [[steps]]
        id = 'IS_AWAKE'
        kind = 'assert'
        params = { contains = '\"on\":true' }
        timeoutMs = 1000";
    let workshop = Workshop::new(&[]).workflow("wake_v1", steps);
    let server = Server::start();
    let setup = AgentSetup::of(&server, "PC-01").devices(&format!("vendor:{}", vendor.url()));
    let _agent = setup.args(&["--workflows", workshop.workflows().to_str().unwrap()]).start();
    enrolled(&server, "PC-01", 2);
    let run = submit(&server, "wake_v1", json!({"TEXT": "it's \"me\""}));
    assert_eq!(counts(&ended(&server, &run)), (2, 0));
    let mut asked: Vec<Value> =
        vendor.seen().into_iter().filter(|request| request["action"] == "screen").collect();
    asked.sort_by_key(|request| request["devices"].as_str().unwrap().to_owned());
    let data = json!({"on": true, "text": "it's \"me\""});
    let expected = ["10.0.0.7:5555", "SER2"]
        .map(|devices| json!({"action": "screen", "devices": devices, "data": data}));
    assert_eq!(asked, expected);
    let mut told: Vec<_> = entered(&server, "task_started")
        .iter()
        .map(|event| (fields(event)["device_id"].to_string(), fields(event)["runtime_handle"].to_string()))
        .collect();
    told.sort();
    let expected = [("\"SER1\"", "\"10.0.0.7:5555\""), ("\"SER2\"", "\"SER2\"")];
    assert_eq!(told, expected.map(|(device, handle)| (device.to_owned(), handle.to_owned())));
}

/// N23: a program that is not there is looked for again and again, and one line of the log says so.
#[test]
fn a_vendors_program_that_is_gone_is_named_once() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let backend = Backend::start();
    let url = format!("vendor:ws://{}", listener.local_addr().unwrap());
    let agent = AgentSetup::new(&backend.url(), "PC-01").devices(&url).start();
    // Each look is a connection, which ends at once.
    (0..3).for_each(|_| drop(listener.accept().unwrap()));
    assert_eq!(agent.log().matches("devices cannot be listed").count(), 1, "{}", agent.log());
}

fn vendor() -> VendorServer {
    VendorServer::start(|request| {
        let data = match request["action"].as_str() {
            Some("list") => json!([{"serial": "10.0.0.7:5555", "onlySerial": "SER1"}, {"serial": "SER2"}]),
            _ => request["data"].clone(),
        };
        VendorReply::Text(json!({"code": 10000, "message": "SUCCESS", "data": data}).to_string())
    })
}

/// Of a task with a step that hangs.
const LIMIT_MS: u64 = 5000;

/// N13, N23: what a run's `simulate` says is what becomes of it; a task's own limit ends a step that hangs.
#[test]
fn simulated_devices_do_as_they_are_told() {
    let server = Server::start();
    let _agent = Agent::start(&server, "PC-01", "simulated:3");
    enrolled(&server, "PC-01", 3);
    let too_long = |step: &str| format!("timeout: the task took longer than {LIMIT_MS} ms, in {step}");
    let failure = |step: &str| format!("{step}: simulated failure");
    let odd = "PREFLIGHT: params.simulate: unknown field `fail_stp`".to_owned();
    for (simulate, reason, error) in [
        (
            json!({"fail_step": "LOGIN_FLOW", "failure_reason": "adb_offline"}),
            "adb_offline",
            failure("LOGIN_FLOW"),
        ),
        (json!({"fail_step": "SCREENSHOT"}), "screenshot_error", failure("SCREENSHOT")),
        (json!({"hang_step": "LOGIN_FLOW"}), "login_flow_timeout", too_long("LOGIN_FLOW")),
        (json!({"hang_step": "PREFLIGHT"}), "unknown", too_long("PREFLIGHT")),
        (json!({"fail_stp": "SCREENSHOT"}), "unknown", odd),
    ] {
        // A slow machine may take its time for steps that do not hang.
        let timeout = if error.starts_with("timeout") { LIMIT_MS } else { 60_000 };
        let body = json!({"workflow_id": SHIPPED, "params": {"simulate": simulate}, "scope": {"devices": ["sim-0002"]},
            "timeoutMs": timeout, "max_attempts": 1});
        let run = server.submit(&body);
        assert_eq!(counts(&ended(&server, &run)), (0, 1), "{simulate}");
        let finished = entered(&server, "task_finished");
        let last = fields(finished.last().unwrap());
        assert_eq!((&last["run_id"], &last["failure_reason"]), (&json!(run), &json!(reason)), "{last}");
        assert!(last["error_message"].as_str().unwrap().starts_with(&error), "{last}");
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
