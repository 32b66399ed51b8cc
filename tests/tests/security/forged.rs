//! Forged tokens (P1, P2).

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use hmac::{Hmac, KeyInit, Mac};
use muster_tests::{Client, Server};
use serde_json::{Value, json};
use sha2::{Sha256, Sha384, Sha512};

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
