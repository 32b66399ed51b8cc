//! Links: `public_url` opens one file without a token, until it expires.

use super::{Scene, link_of};
use muster_tests::{Request, muster_command, until};
use serde_json::{Value, json};

const PICTURE: &[u8] = b"a picture";

/// N21: whoever has the link opens the file, by GET and HEAD, whole or a range, also after a kill -9 of the server.
#[test]
fn a_link_opens_directly() {
    let mut scene = Scene::set();
    let offer = scene.offer_for(PICTURE);
    let anyone = scene.server.anonymous();
    // The link is handed out before the file is there.
    let _ = anyone.get(&offer.link()).problem(404);
    let _ = scene.put(&offer, PICTURE).expect(201);
    for life in 1..=2 {
        let answer = anyone.get(&offer.link());
        assert_eq!((answer.status, &answer.body[..]), (200, PICTURE), "life {life}");
        assert_eq!(answer.headers.len(), scene.get(&offer).headers.len());
        for (name, value) in [
            ("content-type", "image/png"),
            ("x-content-type-options", "nosniff"),
            ("content-security-policy", "sandbox; default-src 'none'"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{name}");
        }
        assert!(answer.header("content-disposition").unwrap().starts_with("inline; "));
        let head = anyone.send(Request::new("HEAD", &offer.link()));
        assert_eq!((head.status, head.header("content-length")), (200, Some("9")));
        let part = anyone.send(Request::new("GET", &offer.link()).header("range", "bytes=2-4"));
        assert_eq!((part.status, &part.body[..]), (206, &b"pic"[..]));
        // A wrong token does not close what the link opens.
        assert_eq!(scene.server.node().get(&offer.link()).status, 200);
        assert_eq!(anyone.with_token("wrong-wrong-wrong-wrong").get(&offer.link()).status, 200);
        scene.server.kill9();
        scene.server.restart();
    }
}

/// N21, I4: `muster artifact link` prints the link and nothing else.
#[test]
fn a_command_makes_a_link() {
    let scene = Scene::set();
    let offer = scene.offer(9);
    let _ = scene.put(&offer, PICTURE).expect(201);
    let link = |arguments: &[&str]| {
        let mut command = muster_command();
        command.args(["artifact", "link"]).args(arguments);
        command.env("MUSTER_SERVER", scene.server.anonymous().url());
        command.env("MUSTER_TOKEN", scene.server.admin_token()).output().unwrap()
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
