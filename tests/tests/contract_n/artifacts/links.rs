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

/// N21, I7: an altered link opens nothing: another file, another expiry, a cut or changed signature.
#[test]
fn an_altered_link_opens_nothing() {
    let scene = Scene::set();
    let offer = scene.offer(9);
    let _ = scene.put(&offer, PICTURE).expect(201);
    let mut second = scene.request(9);
    second["name"] = json!("second");
    let second = super::Offer::of(&scene.ask(&second).expect(200));
    let _ = scene.put(&second, PICTURE).expect(201);
    let link = offer.link();
    let (path, query) = link.split_once('?').unwrap();
    let (expires, signature) = query.split_once("&signature=").unwrap();
    let later = expires.replace("expires=1", "expires=2");
    let flipped = if signature.ends_with('0') { "1" } else { "0" };
    for forged in [
        format!("/api/artifacts/{}?{query}", second.storage_path),
        format!("{path}?{later}&signature={signature}"),
        format!("{path}?{expires}&signature={}", &signature[..63]),
        format!("{path}?{expires}&signature={}{flipped}", &signature[..63]),
        format!("{path}?{expires}&signature="),
        format!("{path}?{expires}"),
    ] {
        assert_ne!(forged, link);
        let problem = scene.server.anonymous().get(&forged).problem(403);
        assert!(problem["detail"].as_str().unwrap().contains("muster artifact link"), "{problem}");
    }
    let _ = scene.server.anonymous().get(path).problem(401);
    assert_eq!(scene.server.anonymous().get(&link).status, 200, "the true one works on");
}

/// N21: after `artifacts.public_url_days`, here less than a second, the link returns 410; an operator gets a fresh one.
#[test]
fn a_link_expires() {
    let mut scene = Scene::with(&[("MUSTER_ARTIFACTS__PUBLIC_URL_DAYS", "0.00001")]);
    let offer = scene.offer(9);
    let _ = scene.put(&offer, PICTURE).expect(201);
    let anyone = scene.server.anonymous();
    let gone =
        until("the link expires", || Some(anyone.get(&offer.link())).filter(|answer| answer.status != 200));
    let detail = gone.problem(410)["detail"].as_str().unwrap().to_owned();
    assert!(detail.contains("expired") && detail.contains("?link=true"), "{detail}");
    assert_eq!(anyone.send(Request::new("HEAD", &offer.link())).status, 410);
    assert_eq!(scene.get(&offer).body, PICTURE, "a token opens the file all the same");
    scene.server.set("MUSTER_ARTIFACTS__PUBLIC_URL_DAYS", "0.5");
    scene.server.kill9();
    scene.server.restart();
    let _ = anyone.get(&offer.link()).problem(410);
    let before = muster_tests::now_ms();
    let fresh = fresh_link(&scene, &offer.storage_path);
    let lasts = fresh["expires_at"].as_i64().unwrap() - before;
    assert!((43_200_000..43_260_000).contains(&lasts), "{lasts}");
    assert_eq!(anyone.get(&link_of(fresh["public_url"].as_str().unwrap())).body, PICTURE);
}

/// N21: with 0 days `public_url` needs an operator's token, and so does a link that was made before.
#[test]
fn with_zero_days_a_token_is_needed() {
    let mut scene = Scene::set();
    let linked = scene.offer(9);
    let _ = scene.put(&linked, PICTURE).expect(201);
    let anyone = scene.server.anonymous();
    assert_eq!(anyone.get(&linked.link()).status, 200);
    scene.server.set("MUSTER_ARTIFACTS__PUBLIC_URL_DAYS", "0");
    scene.server.kill9();
    scene.server.restart();
    let plain = scene.offer(9);
    let path = format!("/api/artifacts/{}", plain.storage_path);
    assert_eq!(plain.link(), path);
    let _ = anyone.get(&plain.link()).problem(401);
    let _ = anyone.get(&linked.link()).problem(401);
    assert_eq!(scene.server.admin().get(&plain.link()).body, PICTURE);
    let fresh = fresh_link(&scene, &plain.storage_path);
    let url = format!("{}{path}", scene.server.anonymous().url());
    assert_eq!(fresh, json!({"public_url": url, "expires_at": null}));
}

/// N21, I7: a VIEWER gets a fresh link; users of the pool, nodes and holders of a link do not.
#[test]
fn operators_get_fresh_links() {
    let scene = Scene::set();
    let offer = scene.offer(9);
    let _ = scene.put(&offer, PICTURE).expect(201);
    let ask = format!("/api/artifacts/{}?link=true", offer.storage_path);
    let fresh = scene.server.user("vera", &["VIEWER"]).get(&ask).expect(200);
    let fresh = link_of(fresh["public_url"].as_str().unwrap());
    assert_eq!(scene.server.anonymous().get(&fresh).body, PICTURE);
    let _ = scene.server.user("carl", &["CLIENT", "WORKER_OWNER"]).get(&ask).problem(403);
    let _ = scene.server.node().get(&ask).problem(403);
    let _ = scene.server.anonymous().get(&ask).problem(401);
    let _ = scene.server.anonymous().get(&format!("{fresh}&link=true")).problem(401);
    let _ = scene.server.admin().get("/api/artifacts/videos/nobody.png?link=true").problem(404);
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

fn fresh_link(scene: &Scene, storage_path: &str) -> Value {
    scene.server.admin().get(&format!("/api/artifacts/{storage_path}?link=true")).expect(200)
}
