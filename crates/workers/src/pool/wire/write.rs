//! What a worker says.

use super::{
    super::core::{Outcome, Submission},
    BODY_BYTES_MAX,
};
use muster_model::Millis;
use muster_proof::{KeyPair, sha256_hex, signed_bytes};
use muster_worker_kit::Text;
use serde_json::{Map, Value, json};

/// Who a worker is, as it registers (P3).
#[derive(Clone, Debug)]
pub struct Introduction {
    /// What it is called.
    pub name: Text,
    /// Where it is.
    pub region: Option<Text>,
    /// What it can do.
    pub specs: Map<String, Value>,
}

/// Writes name and password as a form (P1).
#[must_use]
pub fn write_login(user: &str, password: &str) -> Vec<u8> {
    // A form is written like the query of an address.
    let mut form = reqwest::Url::parse("form:").expect("that is an address");
    form.query_pairs_mut().append_pair("username", user).append_pair("password", password);
    form.query().unwrap_or_default().into()
}

/// Writes a registration (P3).
#[must_use]
pub fn write_introduction(who: &Introduction, key: &str) -> Vec<u8> {
    let mut body = json!({"name": &*who.name, "specs_json": who.specs, "public_key": key});
    if let Some(region) = &who.region {
        body["region"] = json!(&**region);
    }
    bytes(&body)
}

/// Writes a key (P3).
#[must_use]
pub fn write_key(key: &str) -> Vec<u8> {
    bytes(&json!({"public_key": key}))
}

/// Writes which worker it is about (P5).
#[must_use]
pub fn write_worker(worker: u64) -> Vec<u8> {
    bytes(&json!({"worker_id": worker}))
}

/// Writes a poll that starts what it brings (P6).
#[must_use]
pub fn write_poll(worker: u64, wait: Millis) -> Vec<u8> {
    bytes(&json!({"worker_id": worker, "wait_ms": wait.0, "start": true}))
}

/// Writes a question for what is started (P6).
#[must_use]
pub fn write_resume(worker: u64) -> Vec<u8> {
    bytes(&json!({"worker_id": worker, "resume": true}))
}

/// Signs a result and writes it: the bytes that are kept, and submitted as often as it takes (P7, P9).
///
/// One that no server would take for its length becomes an error.
#[must_use]
pub fn write_submission(submission: &Submission, keys: &KeyPair) -> Vec<u8> {
    let body = write(submission, keys);
    if body.len() <= BODY_BYTES_MAX {
        return body;
    }
    let error = format!("the result takes {} bytes, {BODY_BYTES_MAX} are allowed", body.len());
    write(&Submission { outcome: Outcome::Error(error.into()), ..submission.clone() }, keys)
}

fn write(submission: &Submission, keys: &KeyPair) -> Vec<u8> {
    let Submission { worker, assignment, nonce, outcome, .. } = submission;
    let (hash, rest) = match outcome {
        Outcome::Output(output) => {
            let hash = sha256_hex(output.as_bytes());
            let rest = format!(r#""output":{output},"output_hash":"{hash}""#);
            (Some(hash), rest)
        }
        Outcome::Error(error) => (None, format!(r#""error_message":{}"#, json!(&**error))),
    };
    let signature = keys.sign(&signed_bytes(*assignment, nonce, hash.as_deref())).to_text();
    let nonce = json!(&**nonce);
    format!(
        r#"{{"worker_id":{worker},"assignment_id":{assignment},"nonce":{nonce},"signature":"{signature}",{rest}}}"#
    )
    .into_bytes()
}

fn bytes(body: &Value) -> Vec<u8> {
    body.to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::{super::read_spooled, *};
    use muster_proof::{canonical, decode_signature};

    fn submission(outcome: Outcome) -> Submission {
        Submission { entry: 1, worker: 7, assignment: 65, nonce: "n\"ö".into(), outcome }
    }

    fn value(bytes: &[u8]) -> Value {
        serde_json::from_slice(bytes).unwrap()
    }

    /// P7, P9, P11: the signature holds over assignment, nonce and hash; the hash is that of the canonical output. The
    /// same result is the same bytes.
    #[test]
    fn a_result_is_signed() {
        let keys = KeyPair::from_seed(&[7; 32]);
        let output = String::from_utf8(canonical(br#"{"b": 1.0, "a": "\u00f6"}"#).unwrap()).unwrap();
        let written = write_submission(&submission(Outcome::Output(output.as_str().into())), &keys);
        assert_eq!(written, write_submission(&submission(Outcome::Output(output.into())), &keys));
        let body = value(&written);
        let hash = sha256_hex(r#"{"a":"ö","b":1.0}"#.as_bytes());
        assert_eq!(body["output"], json!({"a": "ö", "b": 1.0}));
        assert_eq!((&body["output_hash"], &body["worker_id"]), (&json!(hash), &json!(7)));
        let signature = decode_signature(body["signature"].as_str().unwrap()).unwrap();
        assert!(keys.public_key().verify(&signed_bytes(65, "n\"ö", Some(&hash)), &signature));
    }

    /// P7, P9: an error has no hash, and is signed without.
    #[test]
    fn an_error_is_signed() {
        let keys = KeyPair::from_seed(&[7; 32]);
        let written = write_submission(&submission(Outcome::Error("it \"broke\"".into())), &keys);
        let body = value(&written);
        assert_eq!((&body["error_message"], body.get("output_hash")), (&json!("it \"broke\""), None));
        let signature = decode_signature(body["signature"].as_str().unwrap()).unwrap();
        assert!(keys.public_key().verify(&signed_bytes(65, "n\"ö", None), &signature));
        assert!(read_spooled(&written).unwrap().is_error);
    }

    /// P16: what is read back from disk is what was written; one that is too long is an error before it is written.
    #[test]
    fn results_are_found_again() {
        let keys = KeyPair::from_seed(&[7; 32]);
        let found =
            read_spooled(&write_submission(&submission(Outcome::Output("{}".into())), &keys)).unwrap();
        assert_eq!((found.worker, found.assignment, &*found.nonce, found.is_error), (7, 65, "n\"ö", false));
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(BODY_BYTES_MAX));
        let written = write_submission(&submission(Outcome::Output(long.into())), &keys);
        assert!(written.len() < 1_000 && read_spooled(&written).unwrap().is_error);
    }

    /// P1: a form, whatever is in name and password.
    #[test]
    fn a_login_is_a_form() {
        let form = String::from_utf8(write_login("a&b", "p=ö +%")).unwrap();
        assert_eq!(form, "username=a%26b&password=p%3D%C3%B6+%2B%25");
    }

    /// P3, P6: requests as the contract has them.
    #[test]
    fn requests_are_the_contracts() {
        let specs = json!({"slots": 2}).as_object().unwrap().clone();
        let who = Introduction { name: "W".into(), region: Some("eu".into()), specs };
        let expected = json!({"name": "W", "region": "eu", "specs_json": {"slots": 2}, "public_key": "K"});
        assert_eq!(value(&write_introduction(&who, "K")), expected);
        assert_eq!(
            value(&write_poll(7, Millis(20_000))),
            json!({"worker_id": 7, "wait_ms": 20_000, "start": true})
        );
        assert_eq!(value(&write_resume(7)), json!({"worker_id": 7, "resume": true}));
    }
}
