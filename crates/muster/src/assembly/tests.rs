//! Two servers on one store, in one process: whichever is asked, the one that leads answers (S18).

use super::*;
use crate::config::Layers;
use muster_coordinator::Lead;
use reqwest::{Client, RequestBuilder, Response, StatusCode};
use serde_json::{Value, json};
use std::{collections::BTreeSet, path::PathBuf};
use tempfile::TempDir;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};

/// S18: any server takes any request; all tell of one epoch; each says by itself whether it leads.
#[tokio::test(flavor = "multi_thread")]
async fn any_server_takes_any_request() {
    let (_data, leader, follower) = pair().await;
    let run = json!({"workflow_id": "w", "params": {}});
    let made = follower.post("/api/runs").json(&run).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    assert_eq!(epoch(&made), 1);
    let id = made.json::<Value>().await.unwrap()["run_id"].as_str().unwrap().to_owned();
    for server in [&leader, &follower] {
        let shown = server.get(&format!("/api/runs/{id}")).send().await.unwrap();
        assert_eq!((shown.status(), epoch(&shown)), (StatusCode::OK, 1));
        assert!(shown.headers().contains_key("x-request-id"));
    }
    assert_eq!(leader.text("/readyz").await, "ready\nleading epoch 1\n");
    assert_eq!(follower.text("/readyz").await, format!("ready\nfollowing {} epoch 1\n", leader.url));
    for (server, leads) in [(&leader, 1), (&follower, 0)] {
        let counts = server.text("/metrics").await;
        assert!(counts.contains(&format!("muster_leading {leads}\n")), "{counts}");
        assert!(counts.contains("muster_epoch 1\n"), "{counts}");
        for line in [
            "muster_database_up 1\n",
            "muster_queue_length 0\n",
            "muster_commit_seconds_bucket{le=\"+Inf\"} ",
        ] {
            assert!(counts.contains(line), "{line} {counts}");
        }
        assert_eq!(counts.contains("muster_renewal_age_seconds "), leads == 1, "{counts}");
        let has_committed = !counts.contains("muster_commit_seconds_count 0\n");
        assert_eq!(has_committed, leads == 1, "{counts}");
    }
    let refused = follower.get("/api/runs").bearer_auth("wrong-wrong-wrong").send().await.unwrap();
    assert_eq!((refused.status(), epoch(&refused)), (StatusCode::UNAUTHORIZED, 1));
}

/// S7: whichever server is asked, and by whatever name, it names the one that leads by its advertised URL; after a takeover,
/// the next one.
#[tokio::test(flavor = "multi_thread")]
async fn any_server_names_the_leader() {
    let (_data, leader, follower) = pair().await;
    assert_ne!(leader.url, follower.url);
    for server in [&leader, &follower] {
        assert_eq!(server.leader("6.6.6.6:1").await, leader.url);
        assert_eq!(server.leader("localhost").await, leader.url);
    }
    leader.stop().await;
    assert_eq!(follower.leader("6.6.6.6:1").await, follower.url);
}

/// S18, I8: events reach whoever watches through another server, and a stop of the leader hands everything over.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_hands_over() {
    let (_data, leader, follower) = pair().await;
    let mut events = follower.get("/api/events?after=0").send().await.unwrap();
    let pull = json!({"node_id": "PC-01", "max_jobs": 1, "wait_ms": 30_000});
    let pull = follower.post("/api/nodes/pull").bearer_auth(follower.node_secret.clone()).json(&pull);
    let pull = tokio::spawn(pull.send());
    let run = json!({"workflow_id": "w", "params": {}});
    let made = follower.post("/api/runs").json(&run).send().await.unwrap();
    assert_eq!(made.status(), StatusCode::CREATED);
    assert!(events.chunk().await.unwrap().is_some());
    while leader.coordinator.stats().waiting_pulls() == 0 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }

    leader.stop().await;
    assert!(pull.await.unwrap().unwrap().status().is_success(), "who waits is answered first");
    while let Ok(Some(_)) = events.chunk().await {}
    let again = follower.post("/api/runs").json(&run).send().await.unwrap();
    assert_eq!((again.status(), epoch(&again)), (StatusCode::CREATED, 2));
    assert_eq!(follower.text("/readyz").await, "ready\nleading epoch 2\n");
    assert!(follower.text("/metrics").await.contains("muster_takeovers_total 1\n"));
    let all = follower.get("/api/events?after=0").send().await.unwrap().chunk().await.unwrap().unwrap();
    assert!(String::from_utf8_lossy(&all).starts_with("id: 1\n"), "numbers go on, and none is lost");
}

/// S18: where servers share a store, each must say where it is found.
#[test]
fn all_addresses_are_nobodys() {
    let config = |store: &str, advertise: &str| {
        let mut layers = Layers::defaults();
        let flags = [("server.store", store), ("server.advertise", advertise)];
        layers.add_flags(flags.map(|(key, value)| (key, value.to_owned())).to_vec()).unwrap();
        Config::parse(&layers).unwrap()
    };
    let (everywhere, here) = ("0.0.0.0:7400".parse().unwrap(), "10.0.0.7:7400".parse().unwrap());
    let shared = config("postgres://u:hunter2@h/db", "");
    let refused = advertised(&shared, everywhere).unwrap_err().to_string();
    assert!(refused.contains("--advertise") && !refused.contains("hunter2"), "{refused}");
    assert_eq!(advertised(&shared, here).unwrap().to_string(), "http://10.0.0.7:7400");
    assert!(advertised(&config("sqlite", ""), everywhere).is_ok());
    let told = config("postgres://u@h/db", "https://a.example");
    assert_eq!(advertised(&told, everywhere).unwrap().to_string(), "https://a.example");
}

/// I7, I8, Q14, Q15, Q16, Q17, P3, P4, P5, P6, P7, P13, P14, P17, P18, P19: every route is described, with those who may call
/// it, an id of its own and a success; every security scheme is declared and every reference leads somewhere.
#[tokio::test(flavor = "multi_thread")]
async fn every_route_is_described() {
    let (_data, leader, _follower) = pair().await;
    let document: Value = serde_json::from_str(&leader.text("/openapi.json").await).unwrap();
    let schemes = document["components"]["securitySchemes"].as_object().unwrap();
    let (mut routes, mut ids) = (BTreeSet::new(), BTreeSet::new());
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let route = format!("{method} {path}");
            let is_open = OPEN.contains(&path.as_str());
            let needs = operation["security"].as_array().map_or(&[][..], Vec::as_slice);
            assert_ne!(!needs.is_empty(), is_open, "{route}");
            for scheme in needs.iter().flat_map(|need| need.as_object().unwrap().keys()) {
                assert!(schemes.contains_key(scheme), "{route}: {scheme}");
            }
            assert!(ids.insert(operation["operationId"].as_str().unwrap()), "{route}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{route}");
            assert!(responses.values().all(|response| response["description"].is_string()), "{route}");
            routes.insert(route);
        }
    }
    assert_eq!(routes, include_str!("routes.txt").lines().map(str::to_owned).collect());
    let schemas = document["components"]["schemas"].as_object().unwrap();
    for part in document.to_string().split("\"$ref\":\"#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas.contains_key(name), "{name}");
    }
}

/// Paths that need no token.
const OPEN: [&str; 7] =
    ["/", "/docs", "/healthz", "/leader-proof", "/openapi.json", "/readyz", "/auth/login"];

/// One of the servers.
struct Server {
    url: String,
    admin_token: String,
    node_secret: String,
    client: Client,
    http: HttpState,
    coordinator: Coordinator,
    stop: watch::Sender<bool>,
    listening: JoinHandle<()>,
}

impl Server {
    async fn start(store: MemoryStore, secrets: &Secrets, data: PathBuf) -> Self {
        let mut layers = Layers::defaults();
        layers.add_flags(vec![("server.data", data.display().to_string())]).unwrap();
        layers.add_toml("[leadership]\nlease_ms = 12000", "test".as_ref()).unwrap();
        let config = Config::parse(&layers).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let assembled = assemble(Arc::new(store), secrets, &config, address).unwrap();
        let Assembled { coordinator, http, router, .. } = assembled;
        let (stop, mut stopped) = watch::channel(false);
        let stopped = async move { _ = stopped.wait_for(|stopped| *stopped).await };
        let mut lead = coordinator.watch_lead();
        lead.wait_for(|lead| *lead != Lead::Nowhere).await.unwrap();
        Self {
            url: format!("http://{address}"),
            admin_token: secrets.admin.reveal().to_owned(),
            node_secret: secrets.node.reveal().to_owned(),
            client: muster_worker_kit::http::client_for("http:").no_proxy().build().unwrap(),
            http,
            coordinator,
            stop,
            listening: tokio::spawn(muster_http::listen(listener, router, stopped)),
        }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.client.get(format!("{}{path}", self.url)).bearer_auth(&self.admin_token)
    }

    fn post(&self, path: &str) -> RequestBuilder {
        let request = self.client.post(format!("{}{path}", self.url));
        if path.starts_with("/api/nodes/") { request } else { request.bearer_auth(&self.admin_token) }
    }

    async fn text(&self, path: &str) -> String {
        self.get(path).send().await.unwrap().text().await.unwrap()
    }

    /// The leader that its status names to a caller who gives it this name.
    async fn leader(&self, host: &str) -> String {
        let answer = self.get("/api/v1/status").header("host", host).send().await.unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        answer.json::<Value>().await.unwrap()["leader"].as_str().unwrap().to_owned()
    }

    /// Stops it as `muster serve` does.
    async fn stop(self) {
        self.stop.send_replace(true);
        self.http.close();
        self.coordinator.stop().await;
        self.listening.await.unwrap();
    }
}

/// Two servers, of which the first leads.
async fn pair() -> (TempDir, Server, Server) {
    let data = tempfile::tempdir().unwrap();
    let store = MemoryStore::shared();
    let secrets = Secrets::load(&Vault::Files(data.path().to_owned()), |_| None).unwrap();
    let leader = Server::start(store.clone(), &secrets, data.path().join("a")).await;
    let follower = Server::start(store, &secrets, data.path().join("b")).await;
    (data, leader, follower)
}

fn epoch(answer: &Response) -> u64 {
    answer.headers()["muster-epoch"].to_str().unwrap().parse().unwrap()
}
