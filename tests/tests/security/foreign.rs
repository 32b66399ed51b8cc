//! Foreign objects are not found, and nothing outside is fetched.

use crate::routes::{self, Guard};
use muster_tests::{Answer, Client, FakePoolWorker, Request, Server, sim_registration};
use serde_json::{Value, json};
use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener},
};

/// A request about something of somebody's, which they could send with success.
struct Asked {
    route: &'static str,
    path: String,
    body: Option<Value>,
    detail: &'static str,
}

/// P5, P8, P13, P14: with a foreign owner's or client's token each route that names a worker, an assignment, a job or a key
/// answers as if there were none; nothing changes. With the right one each of the same requests succeeds.
#[test]
fn what_is_foreign_is_not_found() {
    let server = Server::with(&[("MUSTER_POOL__OFFLINE_AFTER_S", "3600")]);
    let (client, owner) = (server.user("carl", &["CLIENT"]), server.user("olga", &["WORKER_OWNER"]));
    let (dora, otto) = (server.user("dora", &["CLIENT"]), server.user("otto", &["WORKER_OWNER"]));
    let worker = FakePoolWorker::registered(&owner, "worker-a");
    let foreign = FakePoolWorker::registered(&otto, "worker-b");
    let asked = scene(&client, &worker);
    let covered: Vec<&str> = asked.iter().map(|asked| asked.route).collect();
    for (route, guard) in routes::routes(&server) {
        let is_about_something = route.path.contains("{id}")
            || ["/workers/heartbeat", "/jobs/poll", "/jobs/submit", "/jobs/work"]
                .contains(&route.path.as_str());
        if matches!(guard, Guard::Client | Guard::Owner) && is_about_something {
            assert!(covered.contains(&route.name().as_str()), "{}: ask for it here", route.name());
        }
    }
    let before = server.database().dump(&["feed", "meta"]);
    for asked in &asked {
        let is_of_owners = asked.path.starts_with("/workers") || asked.body.is_some();
        let answer = send(if is_of_owners { &otto } else { &dora }, asked);
        assert_eq!(answer.problem(404)["detail"], asked.detail, "{}", asked.route);
    }
    // One's own worker with a foreign assignment: it is not the worker's.
    let stolen = foreign.result(&worker.poll(), &json!({"ok": true}));
    assert_eq!(foreign.submit(&stolen).problem(404)["detail"], "Assignment not found");
    assert_eq!(server.database().dump(&["feed", "meta"]), before, "somebody else changed something");
    for asked in &asked {
        let is_of_owners = asked.path.starts_with("/workers") || asked.body.is_some();
        let answer = send(if is_of_owners { &owner } else { &client }, asked);
        assert!(answer.status < 300, "{}: {}", asked.route, answer.text());
    }
}

fn send(client: &Client, asked: &Asked) -> Answer {
    let (method, _) = asked.route.split_once(' ').unwrap();
    let request = Request::new(method, &asked.path);
    client.send(match &asked.body {
        Some(body) => request.json(body),
        None => request,
    })
}

/// Things of a client and an owner, and requests about them in an order in which each succeeds.
fn scene(client: &Client, worker: &FakePoolWorker) -> Vec<Asked> {
    let done = client.post("/jobs", &json!({"payload": {"n": 1}})).expect(201)["id"].clone();
    worker.work_off(&json!({"ok": true}));
    let job = client.post("/jobs", &json!({"payload": {"n": 2}})).expect(201)["id"].clone();
    let key = client.post("/api-keys", &json!({"name": "k"})).expect(201)["id"].clone();
    let result = worker.result(&worker.poll(), &json!({"ok": true}));
    let cancelled = client.post("/jobs", &json!({"payload": {"n": 3}})).expect(201)["id"].clone();
    let id = worker.id;
    let own = json!({"worker_id": id});
    let of_worker = |route, verb: &str| Asked {
        route,
        path: format!("/workers/{id}/{verb}"),
        body: None,
        detail: "Worker not found",
    };
    let told = |route, body: &Value| {
        let path = route_path(route);
        Asked { route, path, body: Some(body.clone()), detail: "Worker not found" }
    };
    let of_job = |route, path: String| Asked { route, path, body: None, detail: "Job not found" };
    vec![
        told("POST /workers/heartbeat", &own),
        told("POST /jobs/poll", &own),
        of_job("GET /jobs/{id}", format!("/jobs/{job}")),
        of_job("GET /jobs/{id}/explain", format!("/jobs/{job}/explain")),
        told("POST /jobs/submit", &result),
        told("POST /jobs/work", &json!({"worker_id": id, "submit": [], "max": 0})),
        of_job("GET /jobs/{id}/receipt", format!("/jobs/{done}/receipt")),
        of_job("DELETE /jobs/{id}", format!("/jobs/{cancelled}")),
        of_job("POST /jobs/{id}/retry", format!("/jobs/{cancelled}/retry")),
        of_worker("POST /workers/{id}/drain", "drain"),
        of_worker("POST /workers/{id}/resume", "resume"),
        Asked { body: Some(json!({"public_key": "AAAA"})), ..of_worker("PUT /workers/{id}/key", "key") },
        Asked {
            route: "DELETE /api-keys/{id}",
            path: format!("/api-keys/{key}"),
            body: None,
            detail: "API key not found",
        },
    ]
}

fn route_path(route: &str) -> String {
    route.split_once(' ').unwrap().1.to_owned()
}

/// Somewhere a server could be lured to.
struct Lure(TcpListener);

impl Lure {
    fn lay(address: &str) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self(listener)
    }

    fn address(&self) -> SocketAddr {
        self.0.local_addr().unwrap()
    }

    /// Checks that no connection came. Call it once the server has ended: any request that it had begun has connected
    /// by then.
    fn is_untouched(&self) {
        let came = self.0.accept().map(|(_, from)| from);
        assert!(came.as_ref().is_err_and(|error| error.kind() == ErrorKind::WouldBlock), "{came:?}");
    }
}

/// P7, P13: artifact_uri is kept as text and never fetched; neither are addresses in payloads, outputs and metrics.
#[test]
fn an_artifact_uri_is_never_fetched() {
    let mut server = Server::start();
    let lure = Lure::lay("127.0.0.1:0");
    let client = server.user("carl", &["CLIENT"]);
    let worker = FakePoolWorker::registered(&server.user("olga", &["WORKER_OWNER"]), "worker-a");
    for scheme in ["http", "https", "ftp", "gopher", "file", "s3"] {
        let uri = format!("{scheme}://{}/secret", lure.address());
        let payload = json!({"url": uri, "callback": uri, "$ref": uri});
        let id = client.post("/jobs", &json!({"payload": payload})).expect(201)["id"].clone();
        let mut result = worker.result(&worker.poll(), &json!({"url": uri}));
        result["artifact_uri"] = json!(uri);
        result["metrics_json"] = json!({"url": uri});
        let _ = worker.submit(&result).expect(200);
        assert_eq!(client.get(&format!("/jobs/{id}")).expect(200)["artifact_uri"], json!(uri));
        for path in ["receipt", "explain"] {
            assert_eq!(client.get(&format!("/jobs/{id}/{path}")).status, 200);
        }
    }
    let _ = client.get("/jobs").expect(200);
    server.kill9_and_restart();
    let _ = client.get("/jobs").expect(200);
    assert_eq!(server.terminate().code(), Some(0));
    lure.is_untouched();
}

/// S3, I7: the server calls a simulation worker at the address the registration came from, or where the setting allows;
/// another endpoint is refused, and the server makes no connection to it.
#[test]
fn an_endpoint_elsewhere_is_refused() {
    let lure = Lure::lay("127.0.0.2:0");
    let mut server = Server::with(&[("MUSTER_SIMULATION__ENDPOINT_ALLOW", "gpu-7.lab")]);
    let enroller = server.anonymous().with_token(&server.enrol_secret());
    let register = |id: &str, endpoint: &str| {
        enroller.post("/api/v1/workers/register", &sim_registration(id, Some(endpoint)))
    };
    let port = lure.address().port();
    for (n, host) in ["127.0.0.2", "localhost", "127.0.0.1@127.0.0.2", "gpu-7.lab@127.0.0.2", "2130706434"]
        .iter()
        .enumerate()
    {
        let answer = register(&format!("W{n}"), &format!("http://{host}:{port}"));
        assert!([400, 422].contains(&answer.status), "{host}: {} {}", answer.status, answer.text());
        assert!(answer.problem(answer.status).to_string().contains("endpoint"), "{}", answer.text());
    }
    let _ = register("W90", "http://gpu-7.lab:9").expect(201);
    assert_eq!(server.database().column("SELECT id FROM sim_workers"), ["W90"]);
    // Work that the server would announce to the workers it can call.
    let session = json!({"sessionId": "s", "totalFrames": 10, "framesPerTask": 5, "scenario": {}, "cameras": ["front"],
        "qualityMode": "strict"});
    let _ = server.admin().post("/api/v1/sessions", &session).expect(201);
    assert_eq!(server.terminate().code(), Some(0));
    lure.is_untouched();
}
