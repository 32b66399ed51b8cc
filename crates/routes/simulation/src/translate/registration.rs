//! A worker as it enrols (S1).

use super::{
    endpoint::{Origin, check_endpoint},
    limit,
};
use muster_http::{Fields, Problem};
use muster_manifest::is_worker_id;
use muster_model::{Name, Registration};
use serde_json::Value;

/// Reads the body of a registration; its token is still to be given. `text` is the body as it came: all of it is kept.
pub(crate) fn read_registration(
    body: &Value,
    text: &str,
    origin: Origin<'_>,
) -> Result<Registration, Problem> {
    let fields = Fields::of(body)?;
    let worker = read_worker_id(&fields)?;
    if text.len() > limit::DESCRIPTION_BYTES {
        let detail = format!("must have at most {} bytes", limit::DESCRIPTION_BYTES);
        return Err(Problem::unprocessable("", &detail));
    }
    fields.opt_text("role", limit::ROLE_CHARS)?;
    let endpoint = fields.opt_text("endpoint", limit::ENDPOINT_CHARS)?;
    let endpoint = endpoint.map(|text| check_endpoint(text, origin)).transpose();
    let endpoint = endpoint.map_err(|detail| fields.refuse("endpoint", detail))?;
    let slots = slots(&fields)?;
    Ok(Registration { worker, token_hash: [0; 32], endpoint, slots, description: text.into() })
}

fn read_worker_id(fields: &Fields<'_>) -> Result<Name, Problem> {
    let text = fields.text("workerId", limit::ID_CHARS)?;
    if RESERVED.contains(&text) {
        return Err(fields.refuse("workerId", "must not be a word of this interface"));
    }
    let name = is_worker_id(text).then(|| Name::new(text).ok()).flatten();
    let detail = "must begin with a letter or digit and have at most 64 of letters, digits, `.`, `_` and `-`";
    name.ok_or_else(|| fields.refuse("workerId", detail))
}

/// How many tasks it takes at a time: one, unless it says more (S3).
fn slots(fields: &Fields<'_>) -> Result<u32, Problem> {
    let Some(capabilities) = fields.opt_fields("capabilities")? else {
        return Ok(1);
    };
    let slots = capabilities.opt_integer_in("slots", 1..=limit::SLOTS)?.unwrap_or(1);
    Ok(u32::try_from(slots).expect("checked to be small"))
}

/// Names that stand for something else where a worker's would: `POST /api/v1/workers/register`.
const RESERVED: [&str; 3] = ["register", "broadcast", "rebind"];

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<Registration, Problem> {
        let origin = Origin { peer: Some("10.0.0.7".parse().unwrap()), allowed: &[] };
        read_registration(body, &body.to_string(), origin)
    }

    fn blamed(body: &Value) -> String {
        let problem = read(body).unwrap_err();
        assert_eq!(problem.status(), 422, "{body}");
        problem.field().unwrap_or_default().to_owned()
    }

    /// S1: the source document's registration, and what is kept of it.
    #[test]
    fn golden_register() {
        let body = json!({"workerId": "worker-a", "role": "simulation",
            "capabilities": {"cameras": 4, "gpu": "RTX 4090"}, "currentSession": null});
        let registration = read(&body).unwrap();
        assert_eq!((registration.worker.as_str(), registration.slots), ("worker-a", 1));
        assert_eq!(registration.endpoint, None);
        let kept: Value = serde_json::from_str(&registration.description).unwrap();
        assert_eq!(kept, body);
    }

    /// S1: a worker's id has a form of its own; anything else is named.
    #[test]
    fn a_worker_id_has_a_form() {
        for good in ["A", "a1", "gpu.01_x-y", "7", &"w".repeat(64)] {
            assert!(read(&json!({"workerId": good})).is_ok(), "{good}");
        }
        for bad in [
            json!(""),
            json!(".a"),
            json!("-a"),
            json!("_a"),
            json!("a b"),
            json!("a/b"),
            json!(".."),
            json!("ä"),
            json!("a\n"),
            json!("w".repeat(65)),
            json!(7),
            json!(null),
            json!("register"),
        ] {
            assert_eq!(blamed(&json!({"workerId": bad})), "workerId", "{bad}");
        }
        assert_eq!(blamed(&json!({})), "workerId");
        assert_eq!(blamed(&json!([])), "");
    }

    /// S3: slots are told among the capabilities, and a foreign endpoint is refused by name.
    #[test]
    fn slots_and_endpoint_are_checked() {
        let with = |key: &str, value: Value| json!({"workerId": "w", key: value});
        assert_eq!(read(&with("capabilities", json!({"slots": 4}))).unwrap().slots, 4);
        for bad in [json!(0), json!(1025), json!("4"), json!(1.5)] {
            assert_eq!(blamed(&with("capabilities", json!({"slots": bad}))), "capabilities.slots");
        }
        assert_eq!(blamed(&with("capabilities", json!("gpu"))), "capabilities");
        assert_eq!(blamed(&with("role", json!(7))), "role");
        let endpoint = read(&with("endpoint", json!("http://10.0.0.7:9000/"))).unwrap().endpoint;
        assert_eq!(endpoint.as_deref(), Some("http://10.0.0.7:9000"));
        for bad in [json!("http://10.0.0.8:9000"), json!("x"), json!(7)] {
            assert_eq!(blamed(&with("endpoint", bad)), "endpoint");
        }
    }

    /// S1: what a worker says of itself is kept, and bounded.
    #[test]
    fn a_description_is_bounded() {
        let body = json!({"workerId": "w", "capabilities": {"x": "y".repeat(limit::DESCRIPTION_BYTES)}});
        assert_eq!(blamed(&body), "");
        let body = json!({"workerId": "w", "own": {"deep": [1]}});
        assert!(read(&body).unwrap().description.contains(r#""own":{"deep":[1]}"#));
    }
}
