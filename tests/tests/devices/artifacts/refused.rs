//! What is refused, and with which words.

use super::{Offer, Scene, put, sha256};
use muster_tests::{Request, until};
use std::{
    io::{Read, Write},
    net::TcpStream,
};

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

/// N21: an address ends, and says what to do then.
#[test]
fn an_address_expires() {
    let scene = Scene::with(&[("MUSTER_ARTIFACTS__URL_TTL_S", "0.1")]);
    let offer = scene.offer(5);
    let ask = || scene.server.anonymous().send(Request::new("HEAD", &offer.target)).status;
    until("the end of the address", || (ask() == 403).then_some(()));
    let refused = scene.put(&offer, b"hello");
    assert!(refused.problem(403)["detail"].as_str().unwrap().contains("ask for a new one"));
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
    until("the first bytes", || (scene.progress(&first).0 == 2).then_some(()));
    let refused = scene.put(&second, b"hello!");
    let _ = refused.problem(503);
    assert!(refused.header("retry-after").unwrap().parse::<u32>().is_ok());
    slow.write_all(b"llo").unwrap();
    assert_eq!(status(&mut slow), 201);
    assert_eq!(scene.get(&first).body, b"hello");
}

/// Sends the head of an upload and the first bytes of it.
pub(super) fn begin(scene: &Scene, offer: &Offer, bytes: &[u8]) -> TcpStream {
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
