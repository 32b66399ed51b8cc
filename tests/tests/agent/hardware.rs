//! Any hardware: devices of a file, programs for their steps, and the files that these leave behind.

use crate::{
    SHIPPED, counts, ended, enrolled,
    outage::WHOLE,
    submit, told,
    workshop::{Workshop, step},
};
use muster_tests::{AgentSetup, Server, until};
use serde_json::json;

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
