//! Links to files: what they open, for how long, and who gets a fresh one.

use super::{NOW, World, json_of, target_of};
use axum::{
    body::Body,
    http::{Request, header},
    response::Response,
};
use muster_artifacts::DirectoryStore;
use muster_http::HttpSettings;
use muster_model::Millis;
use muster_nodes::ArtifactSettings;
use serde_json::{Value, json};
use std::sync::Arc;
use tempfile::TempDir;
use tower::ServiceExt;

/// A server with one file, and the link that was handed out for it.
struct Scene {
    world: World,
    path: String,
    link: String,
    _directory: TempDir,
}

impl Scene {
    async fn set() -> Self {
        Self::with(ArtifactSettings::default()).await
    }

    async fn with(settings: ArtifactSettings) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let store = Arc::new(DirectoryStore::open(directory.path()).unwrap());
        let world = World::with(store, settings, HttpSettings::default()).await;
        let offer = world.offer_by("localhost").await;
        assert_eq!(world.put(Body::from("hello")).await.status(), 201);
        let path = format!("/api/artifacts/{}", offer["storage_path"].as_str().unwrap());
        Self { world, path, link: target_of(&offer["public_url"]), _directory: directory }
    }

    async fn send(&self, method: &str, target: &str, token: Option<&str>) -> Response {
        let mut request = Request::builder().method(method).uri(target).header(header::HOST, "localhost");
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        self.world.app.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    async fn open(&self, target: &str) -> Response {
        self.send("GET", target, None).await
    }

    /// The status of a refusal, which must be a problem.
    async fn refused(&self, target: &str) -> u16 {
        let answer = self.open(target).await;
        let status = answer.status().as_u16();
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json", "{target}");
        assert_eq!(json_of(answer).await["status"], status);
        status
    }

    /// The link without its signature.
    fn unsigned(&self) -> (&str, &str) {
        self.link.split_once("&signature=").unwrap()
    }
}

/// N21: a link opens its file without a token, by GET and HEAD, with the headers of every download.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_opens_without_a_token() {
    let scene = Scene::set().await;
    let by_token = scene.send("GET", &scene.path, Some("admin-token")).await;
    let by_link = scene.open(&scene.link).await;
    assert_eq!((by_token.status().as_u16(), by_link.status().as_u16()), (200, 200));
    for name in [
        header::CONTENT_TYPE,
        header::CONTENT_LENGTH,
        header::ETAG,
        header::CONTENT_DISPOSITION,
        header::CONTENT_SECURITY_POLICY,
        header::X_CONTENT_TYPE_OPTIONS,
        header::CACHE_CONTROL,
    ] {
        assert_eq!(by_link.headers().get(&name), by_token.headers().get(&name), "{name}");
        assert!(by_link.headers().contains_key(&name), "{name}");
    }
    assert_eq!(&axum::body::to_bytes(by_link.into_body(), 100).await.unwrap()[..], b"hello");
    let head = scene.send("HEAD", &scene.link, None).await;
    assert_eq!(
        (head.status().as_u16(), &head.headers()[header::CONTENT_LENGTH]),
        (200, &"5".parse().unwrap())
    );
    for method in ["PUT", "POST", "DELETE", "PATCH"] {
        assert_eq!(scene.send(method, &scene.link, None).await.status(), 405, "{method}");
    }
}

/// N21: a link works until the millisecond it expires; then it is 410, which says how to get a fresh one.
#[tokio::test(flavor = "multi_thread")]
async fn a_link_expires() {
    let scene = Scene::set().await;
    let week = Millis::from_secs(7 * 86_400);
    assert!(scene.link.contains(&format!("?expires={}&", NOW + week.0)), "{}", scene.link);
    scene.world.clock.advance(Millis(week.0 - 1));
    assert_eq!(scene.open(&scene.link).await.status(), 200);
    scene.world.clock.advance(Millis(1));
    let gone = scene.open(&scene.link).await;
    assert_eq!(gone.status(), 410);
    let problem = json_of(gone).await;
    assert_eq!(problem["type"], "urn:muster:problem:link-expired");
    let detail = problem["detail"].as_str().unwrap();
    assert!(detail.contains("expired") && detail.contains("muster artifact link"), "{detail}");
    assert!(detail.contains(&format!("{}?link=true", scene.path)), "{detail}");
    assert_eq!(scene.send("HEAD", &scene.link, None).await.status(), 410);
    // An operator's token opens the file all the same.
    assert_eq!(scene.send("GET", &scene.link, Some("admin-token")).await.status(), 200);
}

/// N21: an upload address works until the millisecond it expires; then it is 403, which says to ask for a new one.
#[tokio::test(flavor = "multi_thread")]
async fn an_upload_address_expires() {
    let scene = Scene::set().await;
    let upload = target_of(&scene.world.offer_by("localhost").await["upload_url"]);
    let (_, expires) = upload.split_once("expires=").unwrap();
    let expires: i64 = expires.split('&').next().unwrap().parse().unwrap();
    scene.world.clock.advance(Millis(expires - NOW - 1));
    assert_eq!(scene.send("HEAD", &upload, None).await.status(), 200);
    scene.world.clock.advance(Millis(1));
    for method in ["HEAD", "PUT"] {
        assert_eq!(scene.send(method, &upload, None).await.status(), 403, "{method}");
    }
    let problem = json_of(scene.send("PUT", &upload, None).await).await;
    assert_eq!(problem["detail"], "this address has expired; ask for a new one and go on with that");
}

/// N21, I7: altered links are refused alike, whether or not the file exists and whether or not they would be in time.
#[tokio::test(flavor = "multi_thread")]
async fn an_altered_link_is_refused() {
    let scene = Scene::set().await;
    let (before, signature) = scene.unsigned();
    let (path, expires) = before.split_once("?expires=").unwrap();
    let expires: i64 = expires.parse().unwrap();
    let flipped = if signature.starts_with('0') { "1" } else { "0" }.to_owned() + &signature[1..];
    let other = path.replace("PC-01", "PC-02");
    let mut details = Vec::new();
    for forged in [
        format!("{path}?expires={}&signature={signature}", expires + 1),
        format!("{path}?expires={}&signature={signature}", NOW - 1),
        format!("{path}?expires=+{expires}x&signature={signature}"),
        format!("{path}?expires={expires}"),
        format!("{path}?signature={signature}"),
        format!("{before}&signature="),
        format!("{before}&signature={}", &signature[..32]),
        format!("{before}&signature={}", &signature[1..]),
        format!("{before}&signature={signature}0"),
        format!("{before}&signature={flipped}"),
        format!("{before}&signature={}", "0".repeat(64)),
        format!("{before}&signature={}", "%00".repeat(64)),
        format!("{other}?expires={expires}&signature={signature}"),
        format!("/api/artifacts/no/such/file?expires={expires}&signature={signature}"),
        format!("/api/artifacts/..%2F..%2Fetc/passwd?expires={expires}&signature={signature}"),
    ] {
        let answer = scene.open(&forged).await;
        assert_eq!(answer.status(), 403, "{forged}");
        assert_eq!(answer.headers()[header::CONTENT_TYPE], "application/problem+json");
        details.push(json_of(answer).await);
    }
    assert!(details.iter().all(|detail| *detail == details[0]), "{details:?}");
    assert_eq!(scene.refused(&scene.path).await, 401);
    assert_eq!(scene.refused(&format!("{}&signature={signature}", scene.link)).await, 401);
}

/// N21, I7: an upload URL opens no file, and a link accepts no upload.
#[tokio::test(flavor = "multi_thread")]
async fn uploads_and_links_do_not_mix() {
    let scene = Scene::set().await;
    let upload = target_of(&scene.world.offer_by("localhost").await["upload_url"]);
    let (_, proof) = upload.split_once('?').unwrap();
    assert_eq!(scene.refused(&format!("{}?{proof}", scene.path)).await, 403);
    let (_, proof) = scene.link.split_once('?').unwrap();
    let target = scene.path.replace("/api/artifacts/", "/api/uploads/");
    for query in [proof.to_owned(), format!("size=5&type=image/png&{proof}")] {
        let request = Request::put(format!("{target}?{query}")).header(header::HOST, "localhost");
        let request = request.header(header::CONTENT_TYPE, "image/png").body(Body::from("hallo")).unwrap();
        assert_eq!(scene.world.app.clone().oneshot(request).await.unwrap().status(), 403);
    }
}

/// N21, I7: an operator gets a fresh link; a node, a stranger and the holder of a link do not.
#[tokio::test(flavor = "multi_thread")]
async fn only_operators_get_a_fresh_link() {
    let scene = Scene::set().await;
    scene.world.clock.advance(Millis::from_secs(8 * 86_400));
    assert_eq!(scene.refused(&scene.link).await, 410);
    let ask = format!("{}?link=true", scene.path);
    assert_eq!(scene.refused(&ask).await, 401);
    assert_eq!(scene.send("GET", &ask, Some("node-secret")).await.status(), 403);
    let answer = scene.send("GET", &ask, Some("admin-token")).await;
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()[header::CONTENT_TYPE]),
        (200, &"application/json".parse().unwrap())
    );
    let fresh: Value = json_of(answer).await;
    assert_eq!(fresh.as_object().unwrap().len(), 2, "{fresh}");
    assert_eq!(fresh["expires_at"], NOW + 15 * 86_400_000);
    let link = target_of(&fresh["public_url"]);
    assert_eq!(scene.open(&link).await.status(), 200);
    assert_eq!(scene.refused(&format!("{link}&link=true")).await, 401);
    let status = async |query: &str| {
        scene.send("GET", &format!("{}?{query}", scene.path), Some("admin-token")).await.status().as_u16()
    };
    assert_eq!(
        [status("link=false").await, status("link=1").await, status("link=true&link=true").await],
        [200, 422, 422]
    );
    for nowhere in ["no/such/file", "..%2Fx", ".x"] {
        let target = format!("/api/artifacts/{nowhere}?link=true");
        assert_eq!(scene.send("GET", &target, Some("admin-token")).await.status(), 404, "{nowhere}");
    }
}

/// N21: with 0 days there are no links: the URL is plain and needs an operator's token, also where it is signed.
#[tokio::test(flavor = "multi_thread")]
async fn without_links_a_token_is_needed() {
    let with_links = Scene::set().await;
    let (_, proof) = with_links.link.split_once('?').unwrap();
    let off = ArtifactSettings { public_url_ttl: Millis(0), ..ArtifactSettings::default() };
    let scene = Scene::with(off).await;
    assert_eq!(scene.link, scene.path);
    assert_eq!(scene.refused(&scene.link).await, 401);
    assert_eq!(scene.refused(&format!("{}?{proof}", scene.path)).await, 401);
    assert_eq!(scene.send("GET", &scene.link, Some("admin-token")).await.status(), 200);
    let answer = scene.send("GET", &format!("{}?link=true", scene.path), Some("admin-token")).await;
    let url = format!("http://localhost{}", scene.path);
    assert_eq!(json_of(answer).await, json!({"public_url": url, "expires_at": null}));
}

/// N21: a link begins with `server.public_url`, else with `server.advertise`, and only else with what the caller calls this
/// server; an upload goes where its node reached the server.
#[tokio::test(flavor = "multi_thread")]
async fn settings_come_before_the_header_host() {
    let directory = tempfile::tempdir().unwrap();
    let store = Arc::new(DirectoryStore::open(directory.path()).unwrap());
    let (public, advertised) = (Some("https://muster.example"), Some("http://10.0.0.7:7400"));
    for (public_url, advertised_url, link, upload) in [
        (public, advertised, "https://muster.example/api/artifacts/", "https://muster.example/api/uploads/"),
        (None, advertised, "http://10.0.0.7:7400/api/artifacts/", "http://6.6.6.6/api/uploads/"),
        (None, None, "http://6.6.6.6/api/artifacts/", "http://6.6.6.6/api/uploads/"),
    ] {
        let http = HttpSettings {
            public_url: public_url.map(str::to_owned),
            advertised_url: advertised_url.map(str::to_owned),
            ..HttpSettings::default()
        };
        let world = World::with(store.clone(), ArtifactSettings::default(), http).await;
        let offer = world.offer_by("6.6.6.6").await;
        assert!(offer["public_url"].as_str().unwrap().starts_with(link), "{offer}");
        assert!(offer["upload_url"].as_str().unwrap().starts_with(upload), "{offer}");
    }
}
