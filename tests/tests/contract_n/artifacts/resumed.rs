//! Uploads that are cut short, repeated, or made twice at once.

use super::{Offer, Scene, refused::begin, sha256};
use muster_tests::{Answer, Dice, Request, until};
use serde_json::json;
use std::{fs, io::Write, time::Duration};

/// Half a megabyte that is nowhere the same.
fn content() -> Vec<u8> {
    (0..131_072_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect()
}

fn put_range(scene: &Scene, offer: &Offer, (content, from, to): (&[u8], usize, usize)) -> Answer {
    let range = format!("bytes {from}-{}/{}", to - 1, content.len());
    let request = Request::new("PUT", &offer.target).header("content-type", "image/png");
    let request = request.header("content-range", &range).bytes(content[from..to].to_vec());
    scene.server.anonymous().send(request)
}

/// N21: an upload that kill -9 of the server cut short goes on where it stood, and the whole is what was sent.
#[test]
fn an_upload_goes_on_after_kill9() {
    let mut scene = Scene::set();
    let content = content();
    let offer = scene.offer_for(&content);
    let cut = begin(&scene, &offer, &content[..300_000]);
    until("the first bytes", || (scene.progress(&offer).0 == 300_000).then_some(()));
    scene.server.kill9();
    drop(cut);
    scene.server.restart();
    assert_eq!(scene.get(&offer).status, 404);
    // The address outlives the server.
    let (offset, is_complete) = scene.progress(&offer);
    assert!(!is_complete && (1..=300_000).contains(&offset), "{offset}");
    let offset = usize::try_from(offset).unwrap();
    let uploaded = put_range(&scene, &offer, (&content, offset, content.len())).expect(201);
    assert_eq!(uploaded["sha256"], sha256(&content));
    assert_eq!(scene.get(&offer).body, content);
    // So does a file.
    scene.server.kill9();
    scene.server.restart();
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
            let _ = put_range(&scene, &offer, (&content, offset, content.len())).expect(201);
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
    until("the first bytes", || (scene.progress(&offer).0 == 1000).then_some(()));
    assert!(scene.server.terminate().success());
    scene.server.restart();
    assert_eq!(scene.progress(&offer), (1000, false));
    let _ = put_range(&scene, &offer, (&content, 1000, content.len())).expect(201);
    assert_eq!(scene.get(&offer).body, content);
}

/// N21: an upload may come in pieces, each where the last one ended; any other place is told the right one.
#[test]
fn an_upload_may_come_in_pieces() {
    let scene = Scene::set();
    let content = b"hello world";
    let offer = scene.offer_for(content);
    let first = put_range(&scene, &offer, (content, 0, 5));
    assert_eq!((first.status, first.header("upload-offset")), (202, Some("5")));
    for (from, to) in [(3, 11), (6, 11), (3, 5)] {
        let refused = put_range(&scene, &offer, (content, from, to));
        let _ = refused.problem(409);
        assert_eq!(refused.header("upload-offset"), Some("5"));
    }
    let _ = put_range(&scene, &offer, (&b"hello"[..], 0, 5)).problem(422);
    let bad = Request::new("PUT", &offer.target).header("content-type", "image/png");
    let _ = scene
        .server
        .anonymous()
        .send(bad.header("content-range", "bytes */11").bytes(Vec::new()))
        .problem(400);
    assert_eq!(put_range(&scene, &offer, (content, 5, 10)).status, 202);
    let _ = put_range(&scene, &offer, (content, 10, 11)).expect(201);
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
    assert_eq!(put_range(&scene, &offer, (b"hello", 3, 5)).expect(200), first);
    scene.server.kill9();
    scene.server.restart();
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
    assert_eq!(put_range(&scene, &old, (b"hello world", 0, 5)).status, 202);
    let parts = scene.server.data().join("artifacts/parts");
    let part = fs::read_dir(&parts).unwrap().next().unwrap().unwrap().path();
    let yesterday = fs::metadata(&part).unwrap().modified().unwrap() - Duration::from_secs(90_000);
    fs::File::options().write(true).open(&part).unwrap().set_modified(yesterday).unwrap();
    fs::write(parts.join("stray.meta"), "{").unwrap();
    assert_eq!(put_range(&scene, &young, (b"hello", 0, 2)).status, 202);
    scene.server.kill9();
    scene.server.restart();
    assert_eq!(scene.progress(&old), (0, false));
    assert_eq!(scene.progress(&young), (2, false));
    assert_eq!(fs::read_dir(&parts).unwrap().count(), 1);
}
