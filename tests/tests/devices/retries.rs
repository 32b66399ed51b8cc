//! Retries of failed rows: Q15, Q11.

use crate::run;
use muster_tests::{Event, FakeNode, Request, Server};
use serde_json::{Value, json};

/// A run of two PCs' four devices with one attempt each: two failed alike, one otherwise, one succeeded.
struct Scene {
    server: Server,
    node: FakeNode,
    run: String,
}

impl Scene {
    fn set() -> Self {
        let server = Server::start();
        let node = FakeNode::enrolled(server.node(), "PC-01", 4);
        let body = json!({"workflow_id": "w", "params": {"k": 1}, "queue": "night", "max_attempts": 1,
            "timeoutMs": 5000, "title": "Friday"});
        let run = server.submit(&body);
        let jobs = node.jobs(4);
        for (job, reason) in jobs.iter().zip(["adb_offline", "upload_error", "adb_offline"]) {
            node.tell(&Event::started("PC-01", job));
            let event = Event::failed("PC-01", job, reason);
            node.tell(&event.set("error_message", json!(format!("it was {}", job["device_id"]))));
        }
        node.succeed(&jobs[3]);
        Self { server, node, run }
    }

    fn failures(&self) -> Value {
        self.server.admin().get(&format!("/api/runs/{}/failures", self.run)).expect(200)["failures"].clone()
    }

    fn retry(&self, body: &Value) -> Request {
        Request::new("POST", &format!("/api/runs/{}/retry", self.run)).json(body)
    }

    fn give_back(&self, device: &str) {
        let _ = self.server.admin().post(&format!("/api/devices/{device}/return"), &json!({})).expect(200);
    }
}

/// Q15: failures are counted by what they have in common, the most frequent first.
#[test]
fn failures_are_counted() {
    let scene = Scene::set();
    let expected = json!([{"error": "adb_offline", "count": 2}, {"error": "upload_error", "count": 1}]);
    assert_eq!(scene.failures(), expected);
    let fresh = scene.server.submit(&run());
    let none = scene.server.admin().get(&format!("/api/runs/{fresh}/failures")).expect(200);
    assert_eq!(none, json!({"failures": []}));
    let _ = scene.server.admin().get("/api/runs/x/failures").problem(404);
}

/// Q15, Q11: a retry is a new run of the same for the devices that failed; what ended stays ended, and a device out of service
/// waits until it is returned.
#[test]
fn a_run_is_tried_again_where_it_failed() {
    let scene = Scene::set();
    let Scene { server, node, run } = &scene;
    let rows = server.rows(run);
    let made = server.admin().send(scene.retry(&json!({}))).expect(201);
    let again = made["run_id"].as_str().unwrap();
    let shown = server.run(again);
    assert_eq!([&shown["title"], &shown["queue"], &shown["workflow_id"]], ["retry of Friday", "night", "w"]);
    assert!(node.jobs(9).is_empty(), "they are out of service");
    for device in ["PC-01-d1", "PC-01-d2", "PC-01-d3"] {
        scene.give_back(device);
    }
    let jobs = node.jobs(9);
    let devices: Vec<_> = jobs.iter().map(|job| job["device_id"].as_str().unwrap()).collect();
    assert_eq!(devices, ["PC-01-d1", "PC-01-d2", "PC-01-d3"]);
    for job in &jobs {
        assert_eq!((&job["run_id"], &job["attempt"]), (&json!(again), &json!(1)));
        node.succeed(job);
    }
    let shown = server.run(again);
    assert_eq!((&shown["status"], &shown["counts"]["completed"]), (&json!("success"), &json!(3)));
    let row = &server.rows(again)[0];
    assert_eq!((&row["config"], &row["max_attempts"]), (&json!({"k": 1}), &json!(1)));
    assert_eq!(server.rows(run), rows, "the first run is as it was");
    let log = server.admin().get("/audit").expect(200);
    let told = log["acts"].as_array().unwrap().iter().find(|act| act["action"] == "submit_run").unwrap();
    assert_eq!(told["subject"], json!(format!("run {again}, queue night: retry of run {run}")));
}

/// Q11, Q15: whoever tries again may have the devices returned, all of them and with the same words.
#[test]
fn a_retry_may_return_its_devices() {
    let scene = Scene::set();
    let body = json!({"failure_reason": "adb_offline", "return_to_service": true});
    let _ = scene.server.admin().send(scene.retry(&body)).problem(422);
    let request = scene.retry(&body).header("Muster-Reason", "new%20cables").header("Idempotency-Key", "k");
    let made = scene.server.admin().send(request).expect(201);
    let devices: Vec<Value> = scene.node.jobs(9).iter().map(|job| job["device_id"].clone()).collect();
    assert_eq!(devices, ["PC-01-d1", "PC-01-d3"]);
    let status = |device: &str| {
        let shown = scene.server.admin().get(&format!("/api/devices/{device}")).expect(200);
        (shown["status"].as_str().unwrap().to_owned(), shown["note"].clone())
    };
    assert_eq!(status("PC-01-d1"), ("ONLINE".to_owned(), json!("new cables")));
    assert_eq!(status("PC-01-d2"), ("ERROR".to_owned(), json!(null)), "it failed otherwise");
    assert_eq!(scene.server.run(made["run_id"].as_str().unwrap())["status"], "running");
}

/// Q15: of one kind only, under a title and a key; a repeat makes no second run, also after a kill.
#[test]
fn one_kind_of_failure_is_tried_again_once() {
    let mut scene = Scene::set();
    let body = json!({"failure_reason": "adb_offline", "title": "cables"});
    let retry = |scene: &Scene, body: &Value| {
        scene.server.admin().send(scene.retry(body).header("Idempotency-Key", "again"))
    };
    let made = retry(&scene, &body).expect(201);
    let again = made["run_id"].as_str().unwrap();
    assert_eq!(retry(&scene, &body).expect(201)["run_id"], again);
    let _ = retry(&scene, &json!({})).problem(409);
    scene.server.kill9_and_restart();
    assert_eq!(retry(&scene, &body).expect(201)["run_id"], again);
    assert_eq!(scene.server.database().count("SELECT count(*) FROM tasks"), 2);
    let scopes = "SELECT count(*) FROM tasks WHERE scope = '{\"devices\":[\"PC-01-d1\",\"PC-01-d3\"]}'";
    assert_eq!(scene.server.database().count(scopes), 1);
    assert_eq!(scene.server.run(again)["title"], "cables");
}

/// Q15, I4, I7: the same on the command line.
#[test]
fn commands_tell_failures_and_retry() {
    let scene = Scene::set();
    let muster = |arguments: &[&str]| scene.server.client_command(arguments).output().unwrap();
    let told = muster(&["run", "failures", &scene.run]);
    assert!(String::from_utf8_lossy(&told.stdout).contains("adb_offline"), "{told:?}");
    let retry = [
        "run",
        "retry",
        &scene.run,
        "--failure-reason",
        "upload_error",
        "--reason",
        "더 많은 디스크",
        "--json",
    ];
    let made: Value = serde_json::from_slice(&muster(&retry).stdout).unwrap();
    assert!(made["run_id"].is_string(), "{made}");
    let log = scene.server.admin().get("/audit?limit=1").expect(200);
    let (again, first) = (made["run_id"].as_str().unwrap(), &scene.run);
    let subject = format!("run {again}, queue night: retry of run {first}: 더 많은 디스크");
    assert_eq!(log["acts"][0]["subject"], json!(subject));
    assert_eq!(muster(&["run", "retry", &scene.run, "--failure-reason", "x"]).status.code(), Some(4));
}
