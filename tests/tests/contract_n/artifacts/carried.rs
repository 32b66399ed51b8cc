//! The agent's uploader against the real server.

use super::{Scene, link_of, sha256};
use muster_agent::{
    Artifact, Backend, Job,
    driver::StepFailure,
    execute::{Upload, Uploads as _},
    upload::Uploads,
};
use muster_model::Millis;
use muster_tests::{Client, until};
use serde_json::Value;
use std::{
    fs,
    io::{Read, Write},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
};
use tokio_util::sync::CancellationToken;

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
                // Nobody there: the caller sees its connection end.
                let Ok(far) = TcpStream::connect(server.url().trim_start_matches("http://")) else {
                    continue;
                };
                let (near_too, far_too) = (near.try_clone().unwrap(), far.try_clone().unwrap());
                let (sent, allowed) = counts.clone();
                thread::spawn(move || carry(near, far, (&sent, &allowed)));
                let free = AtomicU64::new(u64::MAX);
                thread::spawn(move || carry(far_too, near_too, (&AtomicU64::new(0), &free)));
            }
        });
        Self { at, sent, allowed }
    }
}

fn carry(mut from: TcpStream, mut to: TcpStream, (sent, allowed): (&AtomicU64, &AtomicU64)) {
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        sent.fetch_add(count as u64, Ordering::SeqCst);
        until("the line is open", || {
            (sent.load(Ordering::SeqCst) <= allowed.load(Ordering::SeqCst)).then_some(())
        });
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
    until("half of it is there", || (scene.progress(&offer).0 > 900_000).then_some(()));
    scene.server.kill9();
    scene.server.restart();
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
