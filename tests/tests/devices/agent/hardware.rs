//! The agent on each kind of device: the shipped workflow, phones over adb, a vendor's program, simulated devices (N13, N21, N23).

use crate::agent::{
    SHIPPED,
    Backend, CALLBACK,
    counts, ended, enrolled, entered, fields,
    outage::WHOLE,
    submit, told,
    workshop::{Workshop, step},
};
use muster_tests::{
    AdbDevice, AdbServer, Agent, AgentSetup, Server, VendorReply, VendorServer, now_ms, until,
};
use serde_json::{Value, json};
use std::net::TcpListener;

/// N21, N23: a device file's programs do the shipped workflow's steps; an edit of the file counts without a restart.
#[test]
fn the_shipped_workflow_runs_on_any_hardware() {
    let device = |name: &str, handle: &str, status: &str| {
        format!("[[devices]]\ndevice_id = '{name}'\nruntime_handle = '{handle}'\nstatus = '{status}'\n")
    };
    let programs = "[steps]
        PREFLIGHT = ['test', '{{runtime_handle}}', '!=', '{{device_id}}']
        BOOTSTRAP = ['false']
        LOGIN_FLOW = ['true']
        SCREENSHOT = ['sh', '-c', 'printf \"picture of %s\" \"$1\" >artifact.png', 'sh', '{{runtime_handle}}']\n";
    let workshop = Workshop::new(&[]);
    let list = |status: &str| {
        let devices = [device("kiosk-01", "10.0.7.11", "online"), device("kiosk-02", "10.0.7.12", status)];
        workshop.write("devices.toml", &format!("{}{programs}", devices.concat()));
    };
    list("offline");
    let server = Server::start();
    let _agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    for (status, devices) in [("offline", 1), ("online", 2)] {
        list(status);
        enrolled(&server, "PC-01", devices);
        let scope = json!({"pcs": ["PC-01"]});
        let run = server.submit(&json!({"workflow_id": SHIPPED, "scope": scope}));
        until("the devices that are there", || {
            (server.run(&run)["counts"]["completed"] == devices).then_some(())
        });
        for row in server.rows(&run).iter().filter(|row| row["status"] == "completed") {
            assert_eq!(told(&server, row["id"].as_str().unwrap()), WHOLE);
            let path = row["result"]["artifact"]["storage_path"].as_str().unwrap();
            let found = server.admin().get(&format!("/api/artifacts/{path}"));
            let handle = if row["device_id"] == "kiosk-01" { "10.0.7.11" } else { "10.0.7.12" };
            assert_eq!(
                (found.header("content-type"), found.text()),
                (Some("image/png"), format!("picture of {handle}"))
            );
        }
        let _ = server.admin().post(&format!("/api/runs/{run}/cancel"), &json!({}));
    }
}

/// N21, N22: a workflow says where its files are kept, and each of several uploads has its own.
#[test]
fn files_are_kept_where_the_workflow_says() {
    let upload = |id: &str| format!("[[steps]]\nid = '{id}'\nkind = 'upload'\ntimeoutMs = 30000\n");
    let steps = [
        "storage_path = 'pages/{device_id}/{run_id}-{attempt}-{name}.{ext}'\n".to_owned(),
        step("WRITE", &["sh", "-c", "echo notes of $MUSTER_RUN_ID >artifact.txt"]),
        upload("NOTES"),
        step("SHOOT", &["sh", "-c", "rm artifact.txt; echo picture >artifact.png"]),
        upload("PICTURE"),
    ];
    let workshop = Workshop::new(&["d1"]).workflow("pages_v1", &steps.concat());
    let server = Server::start();
    let agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, "pages_v1", json!({}));
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    let files = [
        ("NOTES.txt", "text/plain", format!("notes of {run}\n")),
        ("PICTURE.png", "image/png", "picture\n".to_owned()),
    ];
    for (name, kind, content) in files {
        let found = server.admin().get(&format!("/api/artifacts/pages/d1/{run}-1-{name}"));
        assert_eq!((found.status, found.text()), (200, content));
        assert!(found.header("content-type").unwrap().starts_with(kind), "{:?}", found.headers);
    }
    let told = &server.rows(&run)[0]["result"]["artifact"];
    assert_eq!(
        (&told["kind"], &told["storage_path"]),
        (&json!("screenshot"), &json!(format!("pages/d1/{run}-1-PICTURE.png")))
    );
    // Nothing of a task stays on the PC.
    assert_eq!(std::fs::read_dir(agent.spool().join("work")).unwrap().count(), 0);
}

/// N22: a file of one's own takes the place of a shipped workflow.
#[test]
fn a_shipped_workflow_can_be_replaced() {
    let workshop = Workshop::new(&["d1"]).workflow(SHIPPED, &step("MINE", &["true"]));
    let server = Server::start();
    let _agent = workshop.equip(AgentSetup::of(&server, "PC-01")).start();
    enrolled(&server, "PC-01", 1);
    let run = submit(&server, SHIPPED, json!({}));
    assert_eq!(counts(&ended(&server, &run)), (1, 0));
    let told = told(&server, server.rows(&run)[0]["id"].as_str().unwrap());
    assert_eq!(told, ["task_started", "MINE running", "MINE done", "task_finished succeeded"]);
}

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
        muster_tests::until(&format!("{id} {state}"), || {
            let answer = server.admin().get(&format!("/api/devices/{id}"));
            (answer.status == 200 && answer.json()["attachment"] == state).then_some(())
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

/// N8, N23: heartbeats tell whether the vendor's program is there.
#[test]
fn heartbeats_tell_of_the_vendors_program() {
    let vendor = vendor();
    for (url, is_there) in [(vendor.url(), true), ("ws://127.0.0.1:1".to_owned(), false)] {
        let backend = Backend::start();
        let _agent = AgentSetup::new(&backend.url(), "PC-01").devices(&format!("vendor:{url}")).start();
        let beat = until("a heartbeat", || {
            let heard = backend.heard(CALLBACK).into_iter().map(|heard| heard.body);
            heard.into_iter().find(|event| event["type"] == "node_heartbeat")
        });
        let (told, count) = (&beat["payload"], if is_there { 2 } else { 0 });
        assert_eq!(
            (&told["vendor_ws_ok"], &told["connected_devices_count"]),
            (&json!(is_there), &json!(count))
        );
    }
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
