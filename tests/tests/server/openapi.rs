//! The server's description, held against the server by tools of others.

use muster_tests::{Event, FakeNode, FakePoolWorker, Server, venv};
use serde_json::{Value, json};
use std::process::{Command, Output};
use tempfile::TempDir;

/// I8: the description is valid OpenAPI 3.1.
#[test]
fn the_description_is_valid() {
    let server = Server::start();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("openapi.json");
    std::fs::write(&file, server.anonymous().get("/openapi.json").body).unwrap();
    let output = tool("openapi-spec-validator").arg(&file).output().unwrap();
    assert!(output.status.success(), "{}", told(&output));
}

/// I8, I9, N21, Q15, Q14: operators' routes answer what the description says, whatever is sent.
#[test]
fn operators_routes_are_as_described() {
    let scene = Scene::set();
    // A stream of events never ends; other tests read it.
    let others = "^/api/(nodes/(pull|callback|artifacts)|events|v1/(sessions/.*/stream|workers/(register|rebind)|\
        workers/.*/(heartbeat|progress|tasks)|tasks/.*/(complete|fail)|id-ranges))$|^/(auth|api-keys|jobs|workers).*$";
    scene.compare(&scene.server.admin_token(), &["--exclude-path-regex", others]);
}

/// I8, I9, N1, N4, N21, Q14: nodes' routes answer what the description says, whatever is sent.
#[test]
fn nodes_routes_are_as_described() {
    let scene = Scene::set();
    scene.compare(
        &scene.server.node_secret(),
        &["--include-path-regex", "^/(api/nodes/(pull|callback|artifacts)|rest/.*)$"],
    );
}

/// P1, P2, P13, P18, I8, I9: clients' routes answer what the description says, whatever is sent.
#[test]
fn clients_routes_are_as_described() {
    let scene = Scene::set();
    let routes = "^/(auth/(login|me)|api-keys.*|jobs|jobs/batch|jobs/[{]id[}].*)$";
    scene.compare(&scene.key_of("carl", &["CLIENT"]), &["--include-path-regex", routes]);
}

/// P3, P5, P6, P7, P14, P19, P20, I8, I9: owners' routes, and those of ADMINs about workers, answer what the description says,
/// whatever is sent.
#[test]
fn owners_routes_are_as_described() {
    let scene = Scene::set();
    let routes = "^/(workers.*|jobs/(poll|submit|work))$";
    scene.compare(&scene.key_of("olga", &["WORKER_OWNER", "ADMIN"]), &["--include-path-regex", routes]);
}

/// A server with something of everything, and its description with examples of that.
struct Scene {
    server: Server,
    directory: TempDir,
}

impl Scene {
    fn set() -> Self {
        let server = Server::start();
        let node = FakeNode::enrolled(server.node(), "PC-01", 5);
        let run =
            server.submit(&json!({"workflow_id": "w", "params": {"k": 1}, "max_attempts": 1, "title": "t"}));
        let jobs = node.jobs(3);
        node.succeed(&jobs[0]);
        node.fail(&jobs[1]);
        node.tell(&Event::started("PC-01", &jobs[2]));
        node.tell(&Event::heartbeat("PC-01"));
        node.tell(&Event::run_finished("PC-01", &run, 9, 9));
        let artifact = node.upload(&jobs[2], b"hello")["storage_path"].as_str().unwrap().to_owned();
        pool(&server);
        let mut document = server.anonymous().get("/openapi.json").expect(200);
        let row = jobs[0]["task_id"].as_str().unwrap();
        let examples = Examples { run: &run, row, device: "PC-01-d2", artifact: &artifact };
        examples.add_to(&mut document);
        do_not_wait(&mut document);
        // Lists of thousands take minutes to make and, longer than a body may be, prove nothing. What a directory's name
        // may be, and that a job needs as many attempts as it wants workers, is more than a schema says: other tests
        // send those that may not.
        drop_members(&mut document, &|key, value| match key {
            "maxItems" | "maxProperties" => value.as_u64() > Some(1000),
            _ => ["outputDirectory", "redundancy"].contains(&key),
        });
        let when = &mut document["components"]["schemas"]["ScheduleRequest"]["properties"];
        // Far away, so that no run comes of it.
        when["cron"] = json!({"enum": ["0 0 29 2 *", "59 23 31 12 SUN-MON"]});
        when["timezone"] = json!({"enum": ["UTC", "Asia/Seoul", null]});
        for form in forms(&mut document["components"]["schemas"]["PoolWorkRequest"]) {
            let result = &mut form["properties"]["submit"]["items"]["properties"];
            // It may stand there, and must then be the worker that calls.
            assert!(result.as_object_mut().unwrap().remove("worker_id").is_some());
        }
        let worker = &mut document["components"]["schemas"]["PoolSubmitRequest"]["properties"]["worker_id"];
        // Ids of workers that do not exist: one that does may have got any key meanwhile, and no schema makes a
        // signature.
        assert!(worker.is_object());
        worker["minimum"] = json!(1000);
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("openapi.json"), document.to_string()).unwrap();
        Self { server, directory }
    }

    /// A key of a user's that lets them do what some roles may: schemathesis may log in and out as it likes.
    fn key_of(&self, user: &str, roles: &[&str]) -> String {
        let made =
            self.server.login(user).post("/api-keys", &json!({"name": "fuzz", "scopes": roles})).expect(201);
        made["key"].as_str().unwrap().to_owned()
    }

    /// Runs schemathesis with a token on some of the routes; it must find nothing.
    fn compare(&self, token: &str, routes: &[&str]) {
        let seed = std::env::var("MUSTER_SEED").unwrap_or_else(|_| "1".to_owned());
        let url = self.server.anonymous().url();
        let authorization = format!("Authorization: Bearer {token}");
        let mut command = tool("schemathesis");
        command.args(["run", "openapi.json", "--url", &url, "--seed", &seed, "--header", &authorization]);
        command.args(["--checks", "all", "--workers", "1", "--phases", "examples,coverage,fuzzing"]);
        command.args([
            "--max-examples",
            "50",
            "--request-timeout",
            "60",
            "--no-color",
            "--continue-on-failure",
        ]);
        command.args(["--generation-database", "none"]).args(routes);
        let output = command.current_dir(self.directory.path()).output().unwrap();
        assert!(output.status.success(), "{}", told(&output));
        println!("{}", told(&output));
    }
}

/// Things that exist, so that not everything is answered with 404.
struct Examples<'s> {
    run: &'s str,
    row: &'s str,
    device: &'s str,
    artifact: &'s str,
}

impl Examples<'_> {
    fn add_to(&self, document: &mut Value) {
        for (path, operations) in document["paths"].as_object_mut().unwrap() {
            let example = self.of(path);
            for operation in operations.as_object_mut().unwrap().values_mut() {
                let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
                for parameter in parameters.into_iter().flatten() {
                    match parameter["name"].as_str() {
                        Some("id") => parameter["example"] = json!(example),
                        Some("kind") => parameter["example"] = json!("run"),
                        Some("path") => parameter["example"] = json!(self.artifact),
                        _ => {}
                    }
                }
            }
        }
        let claim = "/rest/v1/rpc/claim_task_devices_for_pc";
        let body = &mut document["paths"][claim]["post"]["requestBody"]["content"]["application/json"];
        body["example"] = json!({"runner_pc_name": "PC-01", "max_to_claim": 1, "lease_minutes": 5});
    }

    fn of(&self, path: &str) -> &str {
        if path.starts_with("/api/task_devices") {
            self.row
        } else if path.starts_with("/api/devices") {
            self.device
        } else if path.starts_with("/api/pcs") || path.starts_with("/api/nodes") {
            "PC-01"
        } else if path.starts_with("/jobs") || path.starts_with("/workers") {
            "1"
        } else {
            self.run
        }
    }
}

/// A client with a job done, one under way and one that waits, and an owner with the worker of those: all have the id 1.
fn pool(server: &Server) {
    let client = server.user("carl", &["CLIENT"]);
    // Only clients make keys.
    let owner = server.user("olga", &["WORKER_OWNER", "CLIENT", "ADMIN"]);
    let worker = FakePoolWorker::with(&owner, "worker-a", &json!({"specs_json": {"slots": 2}}));
    let _ = client.post("/jobs", &json!({"payload": {"n": 1}})).expect(201);
    worker.work_off(&json!({"ok": true}));
    for n in [2, 3] {
        let _ = client.post("/jobs", &json!({"payload": {"n": n}})).expect(201);
    }
    let _ = worker.poll();
}

/// Takes `wait_ms` out: every number from 0 on is valid, and most would make a caller wait for half a minute.
fn do_not_wait(document: &mut Value) {
    for path in ["/api/nodes/pull", "/jobs/{id}"] {
        let parameters = document["paths"][path]["get"]["parameters"].as_array_mut().unwrap();
        parameters.retain(|parameter| parameter["name"] != "wait_ms");
    }
    for name in ["PullRequest", "PoolPollRequest", "PoolWorkRequest"] {
        for form in forms(&mut document["components"]["schemas"][name]) {
            assert!(form["properties"].as_object_mut().unwrap().remove("wait_ms").is_some());
        }
    }
}

/// The objects that a schema admits.
fn forms(schema: &mut Value) -> &mut [Value] {
    if schema["oneOf"].is_array() {
        return schema["oneOf"].as_array_mut().unwrap();
    }
    std::slice::from_mut(schema)
}

/// Takes members out, wherever they stand.
fn drop_members(part: &mut Value, is_dropped: &impl Fn(&str, &Value) -> bool) {
    match part {
        Value::Object(members) => {
            members.retain(|key, value| !is_dropped(key, value));
            members.values_mut().for_each(|member| drop_members(member, is_dropped));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| drop_members(item, is_dropped)),
        _ => {}
    }
}

fn tool(name: &str) -> Command {
    Command::new(venv().join("bin").join(name))
}

fn told(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
