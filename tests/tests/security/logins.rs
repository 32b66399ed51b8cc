//! Logins that guess and tokens that are forged (P1, P2).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use muster_tests::{Answer, Client, Server, password_of};
use serde_json::{Value, json};
use sha2::{Sha256, Sha384, Sha512};
use std::thread;

/// A count of the server's.
pub(crate) fn metric(admin: &Client, name: &str) -> u64 {
    let text = admin.get("/metrics").text();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap_or_default();
    line.trim().parse().unwrap_or_else(|error| panic!("{name}: {error} in {line:?}"))
}

/// All of an answer but what differs with every one.
fn told(answer: &Answer) -> (u16, String, Vec<(String, String)>) {
    let varies = |name: &str| ["date", "x-request-id"].contains(&name);
    let headers = answer.headers.iter().filter(|(name, _)| !varies(name)).cloned().collect();
    (answer.status, answer.text(), headers)
}

/// P1: an unknown user, a wrong password and a disabled user get the same answer, byte for byte, for the same work.
#[test]
fn who_exists_is_not_told() {
    let server = Server::start();
    server.add_user("ann", &["CLIENT"]);
    server.add_user("bob", &["ADMIN"]);
    let _ = server.admin().patch("/users/bob", &serde_json::json!({"active": false})).expect(200);
    let tries = [
        ("ann", "the wrong password"),
        ("nobody", "the wrong password"),
        ("bob", &password_of("bob")),
        ("ANN", &password_of("ann")),
        ("admin-token", &server.admin_token()),
    ];
    let mut answers = Vec::new();
    for (name, password) in tries {
        let before = metric(&server.admin(), "muster_password_checks_total");
        answers.push(told(&server.try_login(name, password)));
        assert_eq!(metric(&server.admin(), "muster_password_checks_total"), before + 1, "{name}");
    }
    assert_eq!(answers[0].0, 401);
    assert!(answers[0].1.contains("Incorrect username or password"), "{}", answers[0].1);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!(server.try_login("ann", &password_of("ann")).status, 200);
}

/// P1, I9: ten failures a minute per name, then 429 with Retry-After and no more work, also for the right password and all
/// at once; other names are not touched.
#[test]
fn guessing_a_password_is_slowed_down() {
    let server = Server::start();
    server.add_user("ann", &["CLIENT"]);
    server.add_user("bob", &["CLIENT"]);
    let before = metric(&server.admin(), "muster_password_checks_total");
    let server = &server;
    let answers: Vec<u16> = thread::scope(|scope| {
        let guess =
            |n: u64| scope.spawn(move || server.try_login("ann", &format!("guess number {n}")).status);
        let threads: Vec<_> = (0..24).map(guess).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let count = |status| answers.iter().filter(|answer| **answer == status).count();
    assert_eq!((count(401), count(429)), (10, 14), "{answers:?}");
    assert_eq!(metric(&server.admin(), "muster_password_checks_total"), before + 10);
    let refused = server.try_login("ann", &password_of("ann"));
    assert_eq!(refused.problem(429)["detail"], "Too many attempts");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=60).contains(&wait), "{wait}");
    for _ in 0..12 {
        assert_eq!(server.try_login("bob", &password_of("bob")).status, 200, "successes do not count");
    }
}

/// P1: a hundred failures a minute per address, whatever the names.
#[test]
fn guessing_names_is_slowed_down() {
    let server = &Server::start();
    server.add_user("ann", &["CLIENT"]);
    let statuses: Vec<u16> = thread::scope(|scope| {
        let guess = |first: u64| {
            move || -> Vec<u16> {
                (0..30).map(|n| server.try_login(&format!("name-{first}-{n}"), "a guess").status).collect()
            }
        };
        let threads: Vec<_> = (0..4).map(|first| scope.spawn(guess(first))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    });
    let count = |status| statuses.iter().filter(|answer| **answer == status).count();
    // Were it slow enough that a minute passes, the first failures would be forgotten.
    assert!(count(401) >= 100 && count(401) + count(429) == 120, "{statuses:?}");
    if count(429) > 0 {
        let _ = server.try_login("ann", &password_of("ann")).problem(429);
    }
}

const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;

fn encode(text: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(text)
}

macro_rules! signed_with {
    ($name:ident, $hash:ty) => {
        /// A token with any header and payload, and an HMAC of it.
        fn $name(key: &str, header: &str, payload: &str) -> String {
            let text = format!("{}.{}", encode(header), encode(payload));
            let mac = Hmac::<$hash>::new_from_slice(key.as_bytes()).unwrap().chain_update(&text).finalize();
            format!("{text}.{}", encode(mac.into_bytes()))
        }
    };
}

signed_with!(hs256, Sha256);
signed_with!(hs384, Sha384);
signed_with!(hs512, Sha512);

fn refused(client: &Client, what: &str, token: &str) {
    for (method, path) in
        [("GET", "/auth/me"), ("GET", "/users"), ("GET", "/jobs"), ("GET", "/api/runs"), ("POST", "/jobs")]
    {
        let request = muster_tests::Request::new(method, path).json(&json!({"payload": {}}));
        let answer = client.with_token(token).send(request);
        assert_eq!(answer.status, 401, "{what} at {path}: {}", answer.text());
    }
}

/// P1, P2: alg=none, another algorithm, a key taken for another kind of key, changed claims and cut signatures are no
/// tokens, even of somebody who knows the server's key as they would a public one.
#[test]
fn no_token_chooses_how_it_is_checked() {
    let server = Server::start();
    let anonymous = server.anonymous();
    server.add_user("boss", &["ADMIN", "CLIENT"]);
    let login = server.try_login("boss", &muster_tests::password_of("boss")).expect(200);
    let token = login["access_token"].as_str().unwrap();
    let parts: Vec<&str> = token.split('.').collect();
    let [header, payload, mac] = parts[..] else { panic!("three parts: {token}") };
    let decode = |part: &str| String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap();
    let claims: Value = serde_json::from_str(&decode(payload)).unwrap();
    let plain = decode(payload);
    let key = std::fs::read_to_string(server.data().join("token-secret")).unwrap();
    assert_eq!(hs256(&key, HS256, &plain), token, "or nothing below would prove anything");
    for alg in ["none", "None", "NONE", "nOnE", "", "HS384", "HS512", "RS256", "ES256", "EdDSA", "hs256"] {
        let header = format!(r#"{{"alg":"{alg}","typ":"JWT"}}"#);
        for tail in ["", mac] {
            refused(&anonymous, alg, &format!("{}.{payload}.{tail}", encode(&header)));
        }
        refused(&anonymous, &format!("{alg} with our key"), &hs256(&key, &header, &plain));
    }
    let (hs384_header, hs512_header) = (HS256.replace("256", "384"), HS256.replace("256", "512"));
    refused(&anonymous, "HS384", &hs384(&key, &hs384_header, &plain));
    refused(&anonymous, "HS512", &hs512(&key, &hs512_header, &plain));
    for header in [
        r#"{"typ":"JWT","alg":"HS256"}"#,
        r#"{"alg": "HS256", "typ": "JWT"}"#,
        r#"{"alg":"HS256","typ":"JWT","kid":"../../../dev/null"}"#,
        r#"{"alg":"HS256","typ":"JWT","jwk":{"kty":"oct","k":"AAAA"}}"#,
        r#"{"alg":"HS256","typ":"JWT","jku":"http://127.0.0.1:1/"}"#,
    ] {
        refused(&anonymous, header, &hs256(&key, header, &plain));
        refused(&anonymous, header, &hs256("AAAA", header, &plain));
    }
    refused(&anonymous, "another key", &hs256("another key of about the same length", HS256, &plain));
    refused(&anonymous, "an empty key", &hs256("", HS256, &plain));
    for (what, forged) in [
        ("without signature", format!("{header}.{payload}.")),
        ("of two parts", format!("{header}.{payload}")),
        ("of four parts", format!("{token}.{mac}")),
        ("with half a signature", format!("{header}.{payload}.{}", &mac[..mac.len() / 2])),
        ("with padding", format!("{token}=")),
        ("twice", format!("{token}{token}")),
        ("a megabyte", format!("{header}.{}.{mac}", "A".repeat(5000))),
    ] {
        refused(&anonymous, what, &forged);
    }
    changed_claims(&anonymous, &claims, |claims| hs256(&key, HS256, &claims.to_string()));
    for claim in ["sub", "sid", "gen", "exp"] {
        let mut other = claims.clone();
        other[claim] = if claims[claim].is_string() { json!("7") } else { json!(9_999_999_999_u64) };
        refused(&anonymous, claim, &format!("{header}.{}.{mac}", encode(other.to_string())));
    }
    assert_eq!(anonymous.with_token(token).get("/users").status, 200, "the true one works on");
}

/// Even with the right key a token must be of a login that there is, the newest of it, and in time.
fn changed_claims(anonymous: &Client, claims: &Value, sign: impl Fn(&Value) -> String) {
    let generation = claims["gen"].as_u64().unwrap();
    for (claim, value) in [
        ("sub", json!("2")),
        ("sub", json!("0")),
        ("sub", json!(1)),
        ("sid", json!("00000000000000000000000000000001")),
        ("gen", json!(generation + 1)),
        ("gen", json!(-1)),
        ("exp", json!(1)),
        ("exp", Value::Null),
        ("role", json!("ADMIN")),
    ] {
        let mut other = claims.clone();
        other[claim] = value.clone();
        refused(anonymous, &format!("{claim} = {value}, signed"), &sign(&other));
    }
}
