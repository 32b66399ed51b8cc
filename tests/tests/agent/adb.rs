//! Phones behind the real adb server.

use crate::{SHIPPED, counts, ended, enrolled, entered, fields, outage::WHOLE, submit, told};
use muster_tests::{AdbDevice, AdbServer, AgentSetup, Server, now_ms};
use serde_json::json;

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
