//! Artifacts: upload addresses, storage paths, downloads, links, and what is refused.

mod resumed;

use muster_tests::{Answer, Client, Event, FakeNode, Request, Server, until, wait_until};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    os::unix::fs::PermissionsExt,
};

/// A server, a node, and a job that it holds.
struct Scene {
    server: Server,
    node: FakeNode,
    job: Value,
}

/// An address as it was handed out.
struct Offer {
    storage_path: String,
    public_url: String,
    /// Path and query of the upload's address.
    target: String,
}

impl Scene {
    fn set() -> Self {
        Self::with(&[])
    }

    fn with(settings: &[(&str, &str)]) -> Self {
        let server = Server::with(settings);
        let node = FakeNode::enrolled(server.node(), "PC-01", 2);
        let _ = server.submit(&json!({"workflow_id": "w", "params": {"youtubeVideoId": "dQw4w9WgXcQ"}}));
        let job = node.job();
        Self { server, node, job }
    }

    /// Request of the node to upload so many bytes.
    fn request(&self, size: usize) -> Value {
        self.node.upload_request(&self.job, size)
    }

    fn ask(&self, body: &Value) -> Answer {
        self.node.client().post("/api/nodes/artifacts", body)
    }

    /// An address for so many bytes.
    fn offer(&self, size: usize) -> Offer {
        Offer::of(&self.ask(&self.request(size)).expect(200))
    }

    /// An address for a content, hash included.
    fn offer_for(&self, content: &[u8]) -> Offer {
        let mut body = self.request(content.len());
        body["sha256"] = json!(sha256(content));
        Offer::of(&self.ask(&body).expect(200))
    }

    fn put(&self, offer: &Offer, content: &[u8]) -> Answer {
        put(&self.server.anonymous(), &offer.target, content)
    }

    /// Progress of an upload: bytes, and true if it is complete.
    fn progress(&self, offer: &Offer) -> (u64, bool) {
        let answer = self.server.anonymous().send(Request::new("HEAD", &offer.target));
        assert_eq!(answer.status, 200);
        let offset = answer.header("upload-offset").unwrap().parse().unwrap();
        (offset, answer.header("upload-complete") == Some("?1"))
    }

    fn get(&self, offer: &Offer) -> Answer {
        self.server.admin().get(&format!("/api/artifacts/{}", offer.storage_path))
    }
}

impl Offer {
    fn of(answer: &Value) -> Self {
        let text = |key: &str| answer[key].as_str().unwrap().to_owned();
        let url = text("upload_url");
        let (_, target) = url.split_once("/api/uploads/").unwrap();
        assert!(answer["expires_at"].is_i64(), "{answer}");
        Self {
            storage_path: text("storage_path"),
            public_url: text("public_url"),
            target: format!("/api/uploads/{target}"),
        }
    }

    /// Path and query of the link.
    fn link(&self) -> String {
        link_of(&self.public_url)
    }
}

/// Path and query of a link.
fn link_of(public_url: &str) -> String {
    let (_, target) = public_url.split_once("/api/artifacts/").unwrap();
    format!("/api/artifacts/{target}")
}

fn put(client: &Client, target: &str, content: &[u8]) -> Answer {
    let request = Request::new("PUT", target).header("content-type", "image/png");
    client.send(request.bytes(content.to_vec()))
}

/// By a tool that is not ours.
fn sha256(content: &[u8]) -> String {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), content).unwrap();
    let output = std::process::Command::new("sha256sum").arg(file.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()[..64].to_owned()
}

/// N21: a node asks, uploads and reports; an operator finds the very file, by the contract's path.
#[test]
fn a_file_goes_up_and_is_found() {
    let scene = Scene::set();
    let offer = scene.offer_for(b"a picture");
    let run = scene.job["run_id"].as_str().unwrap();
    let prefix = format!("videos/dQw4w9WgXcQ/PC-01/PC-01-d1/{run}/");
    let file = offer.storage_path.strip_prefix(&prefix).unwrap();
    let stamp: u64 = file.strip_suffix(".png").unwrap().parse().unwrap();
    assert!(stamp.abs_diff(muster_tests::now_ms().try_into().unwrap()) < 600_000);
    let plain = format!("{}/api/artifacts/{}?expires=", scene.server.anonymous().url(), offer.storage_path);
    assert!(offer.public_url.starts_with(&plain), "{}", offer.public_url);

    assert_eq!(scene.progress(&offer), (0, false));
    assert_eq!(scene.get(&offer).problem(404)["detail"], "there is no such artifact");
    let uploaded = scene.put(&offer, b"a picture").expect(201);
    let hash = sha256(b"a picture");
    assert_eq!(uploaded, json!({"storage_path": offer.storage_path, "size": 9, "sha256": hash}));
    assert_eq!(scene.progress(&offer), (9, true));

    let answer = scene.get(&offer);
    assert_eq!((answer.status, &answer.body[..]), (200, &b"a picture"[..]));
    for (name, value) in [
        ("content-type", "image/png"),
        ("content-length", "9"),
        ("etag", &format!("\"{hash}\"")),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("content-disposition", &format!("inline; filename=\"{file}\"")),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    scene.node.tell(&Event::succeeded("PC-01", &scene.job));
}

/// N21, I7: without a link fetching needs an operator's token; a cached copy is not sent again, and a range can be fetched.
#[test]
fn fetching_is_for_operators() {
    let scene = Scene::set();
    let offer = scene.offer(9);
    let _ = scene.put(&offer, b"a picture").expect(201);
    let path = format!("/api/artifacts/{}", offer.storage_path);
    let _ = scene.server.anonymous().get(&path).problem(401);
    let _ = scene.server.node().get(&path).problem(403);
    // The signature of an upload is not one of a link.
    let (_, query) = offer.target.split_once('?').unwrap();
    let _ = scene.server.anonymous().get(&format!("{path}?{query}")).problem(403);
    let with =
        |name: &str, value: &str| scene.server.admin().send(Request::new("GET", &path).header(name, value));
    let known = with("if-none-match", &format!("W/\"x\", \"{}\"", sha256(b"a picture")));
    assert_eq!((known.status, known.body.len()), (304, 0));
    assert_eq!(with("if-none-match", "\"x\"").status, 200);
    let part = with("range", "bytes=2-4");
    assert_eq!((part.status, &part.body[..]), (206, &b"pic"[..]));
    assert_eq!(part.header("content-range"), Some("bytes 2-4/9"));
    let _ = with("range", "bytes=9-").problem(416);
}

/// N21: what a browser could execute is only ever saved.
#[test]
fn only_pictures_are_shown() {
    let scene = Scene::set();
    let mut body = scene.request(2);
    body["content_type"] = json!("application/json");
    body["kind"] = json!("log");
    let offer = Offer::of(&scene.ask(&body).expect(200));
    assert!(offer.storage_path.ends_with("-log.json"), "{}", offer.storage_path);
    let request =
        Request::new("PUT", &offer.target).header("content-type", "Application/JSON; charset=utf-8");
    let _ = scene.server.anonymous().send(request.bytes(b"{}".to_vec())).expect(201);
    let answer = scene.get(&offer);
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert!(answer.header("content-disposition").unwrap().starts_with("attachment;"));
}

/// N21: a repeated request gets the same path, also after a restart; another attempt, kind or name gets another.
#[test]
fn a_repeat_gets_the_same_path() {
    let mut scene = Scene::set();
    let path = scene.offer(5).storage_path;
    assert_eq!(scene.offer(5).storage_path, path);
    scene.server.kill9_and_restart();
    assert_eq!(scene.offer(5).storage_path, path);
    let mut body = scene.request(5);
    body["name"] = json!("second");
    assert_ne!(Offer::of(&scene.ask(&body).expect(200)).storage_path, path);
    scene.node.fail(&scene.job);
    let again = until("the next attempt", || {
        let mut jobs = scene.node.jobs(2).into_iter();
        jobs.find(|job| job["task_id"] == scene.job["task_id"])
    });
    assert_eq!(again["attempt"], 2);
    scene.job = again;
    assert_ne!(scene.offer(5).storage_path, path);
}

/// N21, I6: files and the key are for their owner only; neither key nor signature is ever logged.
#[test]
fn files_and_key_are_the_owners() {
    let scene = Scene::with(&[("MUSTER_LOG", "trace")]);
    let offer = scene.offer(5);
    let _ = scene.put(&offer, b"hello").expect(201);
    assert_eq!(scene.server.anonymous().get(&offer.link()).status, 200);
    assert_eq!(scene.server.anonymous().get(&format!("{}0", offer.link())).status, 403);
    let mut finished = Event::succeeded("PC-01", &scene.job);
    finished.payload["artifact"] = json!({"kind": "screenshot", "storage_path": offer.storage_path,
        "public_url": offer.public_url});
    scene.node.tell(&finished);
    let data = scene.server.data();
    let mode = |path: &str| fs::metadata(data.join(path)).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("artifact-key"), 0o600);
    assert_eq!(mode("artifacts"), 0o700);
    assert_eq!(mode(&format!("artifacts/files/{}", offer.storage_path)), 0o600);
    assert_eq!(mode("artifacts/files/videos"), 0o700);
    let key = fs::read_to_string(data.join("artifact-key")).unwrap();
    let log = scene.server.log();
    assert!(log.contains(&offer.storage_path), "or nothing below would prove anything");
    for url in [&offer.target, &offer.public_url] {
        let (_, signature) = url.split_once("signature=").unwrap();
        assert!(signature.len() == 64 && !log.contains(signature) && !log.contains(&key));
    }
}

/// N21, I4: an operator fetches a file from the command line, into a file or a pipe.
#[test]
fn a_command_fetches_a_file() {
    let scene = Scene::set();
    let offer = scene.offer(9);
    let _ = scene.put(&offer, b"a picture").expect(201);
    let directory = tempfile::tempdir().unwrap();
    let get = |arguments: &[&str]| {
        let mut command = scene.server.client_command(&["artifact", "get"]);
        command.args(arguments).current_dir(directory.path()).output().unwrap()
    };
    let file = get(&[&offer.storage_path, "-o", "shot.png", "--json"]);
    assert_eq!(file.status.code(), Some(0), "{file:?}");
    let told: Value = serde_json::from_slice(&file.stdout).unwrap();
    assert_eq!(told, json!({"storage_path": offer.storage_path, "file": "shot.png", "size": 9}));
    assert_eq!(fs::read(directory.path().join("shot.png")).unwrap(), b"a picture");
    assert_eq!(get(&[&offer.storage_path]).stdout, b"a picture");
    let unknown = get(&["videos/nobody.png", "-o", "none.png"]);
    assert_eq!(unknown.status.code(), Some(5), "{unknown:?}");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 1);
}

const PICTURE: &[u8] = b"a picture";

/// N21: whoever has the link opens the file, whatever their token, also after a kill -9 of the server.
#[test]
fn a_link_opens_directly() {
    let mut scene = Scene::set();
    let offer = scene.offer_for(PICTURE);
    let anyone = scene.server.anonymous();
    // The link is handed out before the file is there.
    let _ = anyone.get(&offer.link()).problem(404);
    let _ = scene.put(&offer, PICTURE).expect(201);
    for life in 1..=2 {
        for caller in [&anyone, &scene.server.node(), &anyone.with_token("wrong-wrong-wrong-wrong")] {
            let answer = caller.get(&offer.link());
            assert_eq!((answer.status, &answer.body[..]), (200, PICTURE), "life {life}");
            assert_eq!(answer.headers.len(), scene.get(&offer).headers.len());
        }
        scene.server.kill9_and_restart();
    }
}

/// N21, I4: `muster artifact link` prints the link and nothing else.
#[test]
fn a_command_makes_a_link() {
    let scene = Scene::set();
    let offer = scene.offer(9);
    let _ = scene.put(&offer, PICTURE).expect(201);
    let link = |arguments: &[&str]| {
        scene.server.client_command(&["artifact", "link"]).args(arguments).output().unwrap()
    };
    let plain = link(&[&offer.storage_path]);
    assert_eq!(plain.status.code(), Some(0), "{plain:?}");
    let url = String::from_utf8(plain.stdout).unwrap();
    assert_eq!(scene.server.anonymous().get(&link_of(url.trim_end())).body, PICTURE);
    assert!(String::from_utf8(plain.stderr).unwrap().contains("until 20"));
    let told: Value = serde_json::from_slice(&link(&[&offer.storage_path, "--json"]).stdout).unwrap();
    assert!(told["expires_at"].is_i64() && told["public_url"].is_string(), "{told}");
    assert_eq!(link(&["videos/nobody.png"]).status.code(), Some(5));
}

/// N21, I7: an address is good for what it was made for and nothing else, and needs no token.
#[test]
fn an_altered_address_opens_nothing() {
    let scene = Scene::set();
    let Offer { target, storage_path, .. } = scene.offer_for(b"hello");
    let (path, query) = target.split_once('?').unwrap();
    let other_hash = sha256(b"jello");
    let pairs: Vec<(&str, &str)> = query.split('&').map(|pair| pair.split_once('=').unwrap()).collect();
    for (name, _) in &pairs {
        let altered = |value: Option<&str>| {
            let changed = pairs.iter().filter_map(|(key, old)| match (key == name, value) {
                (true, None) => None,
                (true, Some(value)) => Some(format!("{key}={value}")),
                (false, _) => Some(format!("{key}={old}")),
            });
            format!("{path}?{}", changed.collect::<Vec<_>>().join("&"))
        };
        let values =
            [None, Some(""), Some("6"), Some("image/webp"), Some(&*other_hash), Some("99999999999999")];
        for value in values {
            let _ = put(&scene.server.anonymous(), &altered(value), b"hello").problem(403);
            let _ = put(&scene.server.admin(), &altered(value), b"hello").problem(403);
            let asked = scene.server.anonymous().send(Request::new("HEAD", &altered(value)));
            assert_eq!(asked.status, 403, "{name} {value:?}");
        }
    }
    let elsewhere = storage_path.replace("PC-01-d1", "PC-01-d2");
    for other in [elsewhere.as_str(), "a", "..%2f..%2fx", "../../x", "videos"] {
        let _ =
            put(&scene.server.anonymous(), &format!("/api/uploads/{other}?{query}"), b"hello").problem(403);
    }
    let _ = put(&scene.server.anonymous(), path, b"hello").problem(401);
    for method in ["GET", "POST", "PATCH", "DELETE"] {
        let _ = scene.server.anonymous().send(Request::new(method, &target)).problem(405);
    }
    let _ = put(&scene.server.anonymous(), &target, b"hello").expect(201);
}

/// N21: a body that is not what was announced is refused, and nothing of it is kept.
#[test]
fn what_was_not_announced_is_not_kept() {
    let scene = Scene::set();
    let offer = scene.offer_for(b"hello");
    let _ = scene.put(&offer, b"hello!").problem(413);
    let _ = scene.put(&offer, b"hell").problem(422);
    let chunked = |body: &str| {
        let mut connection = connect(&scene);
        let head = format!("PUT {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: image/png\r\n", offer.target);
        let rest = format!("connection: close\r\ntransfer-encoding: chunked\r\n\r\n{body}");
        connection.write_all(format!("{head}{rest}").as_bytes()).unwrap();
        status(&mut connection)
    };
    assert_eq!(chunked("3\r\nhel\r\n3\r\nlo!\r\n0\r\n\r\n"), 413);
    assert_eq!(scene.progress(&offer), (0, false));
    assert_eq!(scene.put(&offer, b"jello").problem(422)["field"], "sha256");
    assert_eq!(scene.progress(&offer), (0, false));
    for content_type in ["image/jpeg", "", "image/pngx"] {
        let request = Request::new("PUT", &offer.target).header("content-type", content_type);
        let _ = scene.server.anonymous().send(request.bytes(b"hello".to_vec())).problem(415);
    }
    let _ = scene
        .server
        .anonymous()
        .send(Request::new("PUT", &offer.target).bytes(b"hello".to_vec()))
        .problem(415);
    assert_eq!(scene.get(&offer).status, 404);
    assert_eq!(chunked("3\r\nhel\r\n0\r\n\r\n"), 422);
    assert_eq!(scene.progress(&offer), (3, false));
    assert_eq!(chunked("5\r\nhello\r\n0\r\n\r\n"), 201);
}

/// N21, I9: more uploads at once than there is room for are turned away and may come again.
#[test]
fn too_many_uploads_are_turned_away() {
    let scene = Scene::with(&[("MUSTER_ARTIFACTS__MAX_UPLOADS", "1")]);
    let (first, second) = (scene.offer(5), scene.offer(6));
    let mut slow = begin(&scene, &first, b"he");
    wait_until("the first bytes", || scene.progress(&first).0 == 2);
    let refused = scene.put(&second, b"hello!");
    let _ = refused.problem(503);
    assert!(refused.header("retry-after").unwrap().parse::<u32>().is_ok());
    slow.write_all(b"llo").unwrap();
    assert_eq!(status(&mut slow), 201);
    assert_eq!(scene.get(&first).body, b"hello");
}

/// Sends the head of an upload and the first bytes of it.
fn begin(scene: &Scene, offer: &Offer, bytes: &[u8]) -> TcpStream {
    let mut connection = connect(scene);
    let size = offer.target.split_once("size=").unwrap().1.split('&').next().unwrap();
    let head = format!(
        "PUT {} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: image/png\r\ncontent-length: {size}\r\n\r\n",
        offer.target
    );
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(bytes).unwrap();
    connection
}

/// The status of the answer, once the connection has ended.
fn status(connection: &mut TcpStream) -> u16 {
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer}")).parse().unwrap()
}

fn connect(scene: &Scene) -> TcpStream {
    let url = scene.server.anonymous().url();
    TcpStream::connect(url.strip_prefix("http://").unwrap()).unwrap()
}
