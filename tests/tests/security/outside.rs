//! The server calls nobody because a stranger said so: P7, S3, I7.

use muster_tests::{FakePoolWorker, Server};
use serde_json::{Value, json};
use std::{
    io::ErrorKind,
    net::{SocketAddr, TcpListener},
};

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

    /// Nobody came. Asked once the server has ended: what it had begun by then has connected.
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
    server.kill9();
    server.restart();
    let _ = client.get("/jobs").expect(200);
    assert_eq!(server.terminate().code(), Some(0));
    lure.is_untouched();
}

/// S3, I7: a simulation worker is called back where it came from, or where the list allows; never elsewhere.
#[test]
fn an_endpoint_elsewhere_is_refused() {
    let lure = Lure::lay("127.0.0.2:0");
    let mut server = Server::with(&[("MUSTER_SIMULATION__ENDPOINT_ALLOW", "gpu-7.lab")]);
    let enroller = server.anonymous().with_token(&server.enrol_secret());
    let port = lure.address().port();
    for (n, endpoint) in [
        format!("http://127.0.0.2:{port}"),
        format!("http://localhost:{port}"),
        format!("http://127.0.0.2.nip.io:{port}"),
        format!("http://127.0.0.1@127.0.0.2:{port}"),
        format!("http://gpu-7.lab@127.0.0.2:{port}"),
        format!("http://[::ffff:127.0.0.2]:{port}"),
        format!("http://2130706434:{port}"),
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        "gopher://127.0.0.1/".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        let answer = enroller.post("/api/v1/workers/register", &registration(&format!("W{n}"), endpoint));
        assert!([400, 422].contains(&answer.status), "{endpoint}: {} {}", answer.status, answer.text());
        assert!(answer.problem(answer.status).to_string().contains("endpoint"), "{}", answer.text());
    }
    let session = json!({"sessionId": "s", "totalFrames": 10, "framesPerTask": 5, "scenario": {}, "cameras": ["front"],
        "qualityMode": "strict"});
    let _ = server.admin().post("/api/v1/sessions", &session).expect(201);
    let listed = registration("W90", "http://gpu-7.lab:9");
    assert_eq!(enroller.post("/api/v1/workers/register", &listed).status, 201);
    assert_eq!(server.database().count("SELECT count(*) FROM sim_workers"), 1);
    assert_eq!(server.terminate().code(), Some(0));
    lure.is_untouched();
}

fn registration(id: &str, endpoint: &str) -> Value {
    json!({"workerId": id, "role": "render", "capabilities": {"cameras": 1, "gpu": "none", "slots": 1},
        "currentSession": null, "endpoint": endpoint})
}
