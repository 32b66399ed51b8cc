//! Uploads that are cut short, repeated, or go on after kill -9: by hand and by the agent.

use super::{Offer, Scene, begin, link_of, sha256};
use muster_agent::{
    Artifact, Backend, Job,
    driver::StepFailure,
    execute::{Upload, Uploads as _},
    upload::Uploads,
};
use muster_model::Millis;
use muster_tests::{Answer, Client, Dice, Request, wait_until};
use serde_json::{Value, json};
use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    ops::Range,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};
use tokio_util::sync::CancellationToken;

/// Half a megabyte that is nowhere the same.
fn content() -> Vec<u8> {
    (0..131_072_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn put_range(scene: &Scene, offer: &Offer, content: &[u8], range: Range<usize>) -> Answer {
    let header = format!("bytes {}-{}/{}", range.start, range.end - 1, content.len());
    let request = Request::new("PUT", &offer.target).header("content-type", "image/png");
    let request = request.header("content-range", &header).bytes(content[range].to_vec());
    scene.server.anonymous().send(request)
}

/// N21: an upload that kill -9 of the server cut short goes on where it stood, and the whole is what was sent.
#[test]
fn an_upload_goes_on_after_kill9() {
    let mut scene = Scene::set();
    let content = content();
    let offer = scene.offer_for(&content);
    let cut = begin(&scene, &offer, &content[..300_000]);
    wait_until("the first bytes", || scene.progress(&offer).0 == 300_000);
    scene.server.kill9();
    drop(cut);
    scene.server.restart();
    assert_eq!(scene.get(&offer).status, 404);
    // The address outlives the server.
    let (offset, is_complete) = scene.progress(&offer);
    assert!(!is_complete && (1..=300_000).contains(&offset), "{offset}");
    let offset = usize::try_from(offset).unwrap();
    let uploaded = put_range(&scene, &offer, &content, offset..content.len()).expect(201);
    assert_eq!(uploaded["sha256"], sha256(&content));
    assert_eq!(scene.get(&offer).body, content);
    // So does a file.
    scene.server.kill9_and_restart();
    assert_eq!(scene.get(&offer).body, content);
    assert_eq!(fs::read_dir(scene.server.data().join("artifacts/parts")).unwrap().count(), 0);
}

/// N21: whenever the server dies, a path shows nothing or the whole file, and what was acknowledged stays.
#[test]
fn kill9_at_any_moment_leaves_nothing_or_all() {
    let mut scene = Scene::set();
    let (content, mut dice) = (content(), Dice::announced());
    let mut acknowledged: Vec<Offer> = Vec::new();
    for round in 0..15 {
        let mut body = scene.request(content.len());
        body["sha256"] = json!(sha256(&content));
        body["name"] = json!(format!("round-{round}"));
        let offer = Offer::of(&scene.ask(&body).expect(200));
        let request = Request::new("PUT", &offer.target).header("content-type", "image/png");
        let (client, request) = (scene.server.anonymous(), request.bytes(content.clone()));
        let sending = std::thread::spawn(move || client.try_send(request));
        // Not to wait for something, but to die at some moment of it.
        std::thread::sleep(Duration::from_micros(dice.below(15_000)));
        scene.server.kill9();
        let was_told = sending.join().unwrap().is_ok_and(|answer| answer.status == 201);
        scene.server.restart();
        let shown = scene.get(&offer);
        assert!(shown.status == 404 || shown.body == content, "{}", shown.status);
        assert!(!was_told || shown.status == 200, "an acknowledged file is gone");
        let (offset, is_complete) = scene.progress(&offer);
        let offset = usize::try_from(offset).unwrap();
        if !is_complete {
            let _ = put_range(&scene, &offer, &content, offset..content.len()).expect(201);
        }
        acknowledged.push(offer);
        assert!(acknowledged.iter().all(|offer| scene.get(offer).body == content));
    }
}

/// N21, I1: a server that is asked to stop does not wait for an upload, which goes on afterwards.
#[test]
fn an_upload_goes_on_after_a_stop() {
    let mut scene = Scene::set();
    let content = content();
    let offer = scene.offer_for(&content);
    let _cut = begin(&scene, &offer, &content[..1000]);
    wait_until("the first bytes", || scene.progress(&offer).0 == 1000);
    assert!(scene.server.terminate().success());
    scene.server.restart();
    assert_eq!(scene.progress(&offer), (1000, false));
    let _ = put_range(&scene, &offer, &content, 1000..content.len()).expect(201);
    assert_eq!(scene.get(&offer).body, content);
}

/// N21: an upload may come in pieces, each where the last one ended; any other place is told the right one.
#[test]
fn an_upload_may_come_in_pieces() {
    let scene = Scene::set();
    let content = b"hello world";
    let offer = scene.offer_for(content);
    let first = put_range(&scene, &offer, content, 0..5);
    assert_eq!((first.status, first.header("upload-offset")), (202, Some("5")));
    for (from, to) in [(3, 11), (6, 11), (3, 5)] {
        let refused = put_range(&scene, &offer, content, from..to);
        let _ = refused.problem(409);
        assert_eq!(refused.header("upload-offset"), Some("5"));
    }
    let _ = put_range(&scene, &offer, &b"hello"[..], 0..5).problem(422);
    let bad = Request::new("PUT", &offer.target).header("content-type", "image/png");
    let _ = scene
        .server
        .anonymous()
        .send(bad.header("content-range", "bytes */11").bytes(Vec::new()))
        .problem(400);
    assert_eq!(put_range(&scene, &offer, content, 5..10).status, 202);
    let _ = put_range(&scene, &offer, content, 10..11).expect(201);
    assert_eq!(scene.get(&offer).body, content);
}

/// N21: a repeat of what is complete is answered alike, also after a restart and through a newer address; another
/// content is refused and changes nothing.
#[test]
fn a_repeat_changes_nothing() {
    let mut scene = Scene::set();
    let offer = scene.offer(5);
    let first = scene.put(&offer, b"hello").expect(201);
    assert_eq!(scene.put(&offer, b"hello").expect(200), first);
    assert_eq!(put_range(&scene, &offer, b"hello", 3..5).expect(200), first);
    scene.server.kill9_and_restart();
    assert_eq!(scene.put(&offer, b"hello").expect(200), first);
    assert_eq!(scene.put(&scene.offer_for(b"hello"), b"hello").expect(200), first);
    let _ = scene.put(&offer, b"jello").problem(409);
    let other = scene.offer_for(b"other");
    assert_eq!(other.storage_path, offer.storage_path);
    let _ = scene.put(&other, b"other").problem(409);
    let asked = scene.server.anonymous().send(Request::new("HEAD", &other.target));
    assert_eq!(asked.status, 409);
    assert_eq!(scene.get(&offer).body, b"hello");
}

/// N21: what nobody went on with for a day is gone after a start; what is younger is not.
#[test]
fn leftovers_are_removed_at_a_start() {
    let mut scene = Scene::set();
    let (old, young) = (scene.offer_for(b"hello world"), scene.offer(5));
    assert_eq!(put_range(&scene, &old, b"hello world", 0..5).status, 202);
    let parts = scene.server.data().join("artifacts/parts");
    let part = fs::read_dir(&parts).unwrap().next().unwrap().unwrap().path();
    let yesterday = fs::metadata(&part).unwrap().modified().unwrap() - Duration::from_secs(90_000);
    fs::File::options().write(true).open(&part).unwrap().set_modified(yesterday).unwrap();
    fs::write(parts.join("stray.meta"), "{").unwrap();
    assert_eq!(put_range(&scene, &young, b"hello", 0..2).status, 202);
    scene.server.kill9_and_restart();
    assert_eq!(scene.progress(&old), (0, false));
    assert_eq!(scene.progress(&young), (2, false));
    assert_eq!(fs::read_dir(&parts).unwrap().count(), 1);
}

/// A line to the server that stays where it is when the server comes back elsewhere, and lets so many bytes through.
struct Line {
    at: SocketAddr,
    sent: Arc<AtomicU64>,
    allowed: Arc<AtomicU64>,
}

impl Line {
    fn to(server: Client, allowed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        let (sent, allowed) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(allowed)));
        let counts = (Arc::clone(&sent), Arc::clone(&allowed));
        thread::spawn(move || {
            for near in listener.incoming().map_while(Result::ok) {
                // No server is listening: the caller sees its connection end.
                let Ok(far) = TcpStream::connect(server.url().trim_start_matches("http://")) else {
                    continue;
                };
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let (sent, allowed) = counts.clone();
                thread::spawn(move || carry(near, far, &sent, &allowed));
                let free = AtomicU64::new(u64::MAX);
                thread::spawn(move || carry(far_too, near_too, &AtomicU64::new(0), &free));
            }
        });
        Self { at, sent, allowed }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, sent: &AtomicU64, allowed: &AtomicU64) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        sent.fetch_add(count as u64, Ordering::SeqCst);
        wait_until("the line is open", || sent.load(Ordering::SeqCst) <= allowed.load(Ordering::SeqCst));
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}

fn job(job: &Value) -> Job {
    let text = |value: &Value| value.as_str().unwrap().into();
    Job {
        task: text(&job["task_id"]),
        run: text(&job["run_id"]),
        device: text(&job["device_id"]),
        handle: text(&job["runtime_handle"]),
        workflow: text(&job["workflow_id"]),
        params: "{}".into(),
        timeout: Millis(60_000),
        attempt: 1,
        token: Some(text(&job["lease"]["token"])),
    }
}

/// Uploads a file through a line, on a thread of its own.
fn upload(scene: &Scene, line: &Line, content: &[u8]) -> thread::JoinHandle<Result<Artifact, StepFailure>> {
    let (job, content, secret) = (job(&scene.job), content.to_vec(), scene.server.node_secret());
    let url = format!("http://{}", line.at);
    thread::spawn(move || {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), content).unwrap();
        let servers = muster_worker_kit::http::Servers::parse([url.as_str()]).unwrap();
        let client = servers.client().no_proxy().build().unwrap();
        let uploads = Uploads::new(Backend::new(client, servers, "PC-01", &secret));
        let (kind, content_type, cancel) = ("screenshot", "image/png", CancellationToken::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (file, name, storage_path) = (file.path(), None, None);
        let upload = Upload { job: &job, file, kind, content_type, name, storage_path, cancel: &cancel };
        runtime.block_on(uploads.upload(upload))
    })
}

/// N21: the agent's upload survives kill -9 of the server in the middle of it, and sends only what is missing.
#[test]
fn the_agents_upload_survives_kill9() {
    let mut scene = Scene::set();
    let content: Vec<u8> =
        (0..524_288_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
    let line = Line::to(scene.server.anonymous(), 1_000_000);
    let uploading = upload(&scene, &line, &content);
    // The same claim: what this asks after is that upload.
    let offer = scene.offer_for(&content);
    wait_until("half of it is there", || scene.progress(&offer).0 > 900_000);
    scene.server.kill9_and_restart();
    assert!(scene.progress(&offer).0 > 900_000);
    line.allowed.store(u64::MAX, Ordering::SeqCst);
    let artifact = uploading.join().unwrap().unwrap();
    assert_eq!(artifact.storage_path, offer.storage_path);
    assert_eq!(scene.server.anonymous().get(&link_of(&artifact.public_url)).status, 200);
    let answer = scene.get(&offer);
    assert!(answer.body == content);
    assert_eq!(answer.header("etag"), Some(&*format!("\"{}\"", sha256(&content))));
    let sent = line.sent.load(Ordering::SeqCst);
    assert!(sent < 2_600_000, "{sent} bytes were sent for a file of {}", content.len());
}
