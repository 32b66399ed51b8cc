//! Registration of a worker (S1).

use crate::{ResponseError, limit, response_fields::ResponseFields, to_bytes};
use muster_manifest::is_worker_id;
use muster_model::{Millis, Name, Registration};
use muster_problem::{Fields, Problem};
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::Arc;
use utoipa::ToSchema;

/// A registration as a worker writes it (S1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterRequest {
    /// The worker's id.
    pub worker: Arc<str>,
    /// Its purpose.
    pub role: Arc<str>,
    /// Number of cameras that it renders.
    pub cameras: u32,
    /// The name of its GPU.
    pub gpu: Arc<str>,
    /// Number of tasks that it holds at once.
    pub slots: u32,
    /// The address that tasks can be pushed to.
    pub endpoint: Option<Arc<str>>,
}

/// The response to a registration (S1). It holds a secret, so it is never printed.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegisterResponse {
    /// The worker.
    pub worker_id: String,
    /// Its token from now on; shown this once.
    pub worker_token: String,
    /// The path for further ids.
    #[schema(example = "/api/v1/id-ranges")]
    pub id_range_endpoint: &'static str,
    /// The interval of its heartbeats.
    pub heartbeat_interval_ms: i64,
    /// The epoch it registered in.
    pub epoch: u64,
}

impl RegisterRequest {
    /// The body.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut body = json!({
            "workerId": &*self.worker,
            "role": &*self.role,
            "capabilities": {"cameras": self.cameras, "gpu": &*self.gpu, "slots": self.slots},
            "currentSession": null,
        });
        if let Some(endpoint) = &self.endpoint {
            body["endpoint"] = json!(&**endpoint);
        }
        to_bytes(&body)
    }
}

impl RegisterResponse {
    /// The response to a worker that was registered.
    #[must_use]
    pub const fn new(worker_id: String, worker_token: String, interval: Millis, epoch: u64) -> Self {
        let id_range_endpoint = "/api/v1/id-ranges";
        Self { worker_id, worker_token, id_range_endpoint, heartbeat_interval_ms: interval.0, epoch }
    }

    /// Reads a response. Without an interval, that of the contract counts.
    ///
    /// # Errors
    /// It is not such a response, or its token does not fit in a header.
    pub fn read(bytes: &[u8]) -> Result<Self, ResponseError> {
        let fields = ResponseFields::read(bytes)?;
        let token: String = fields.get("workerToken")?;
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            let why = "is nothing that fits in a header".to_owned();
            return Err(ResponseError::Field { field: "workerToken", why });
        }
        let interval = fields.find::<u32>("heartbeatIntervalMs")?.map_or(INTERVAL, |ms| Millis(ms.into()));
        let worker = fields.find("workerId")?.unwrap_or_default();
        Ok(Self::new(worker, token, interval, fields.get("epoch")?))
    }
}

/// Reads the body of a registration; its token is still to be given. `text` is the body as it came: all of it is kept.
/// `check_endpoint` says whether the server may call an address, or what is wrong with it.
///
/// # Errors
/// A field is missing or has an impossible value; the problem names it.
pub fn read_registration(
    body: &Value,
    text: &str,
    check_endpoint: impl FnOnce(&str) -> Result<Box<str>, &'static str>,
) -> Result<Registration, Problem> {
    let fields = Fields::of(body)?;
    let worker = read_worker_id(&fields)?;
    if text.len() > limit::DESCRIPTION_BYTES {
        let detail = format!("must have at most {} bytes", limit::DESCRIPTION_BYTES);
        return Err(Problem::unprocessable("", &detail));
    }
    fields.opt_text("role", limit::ROLE_CHARS)?;
    let endpoint = fields.opt_text("endpoint", limit::ENDPOINT_CHARS)?;
    let endpoint = endpoint.map(check_endpoint).transpose();
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

/// Number of tasks that a worker takes at a time: one, unless it reports more (S3).
fn slots(fields: &Fields<'_>) -> Result<u32, Problem> {
    let Some(capabilities) = fields.opt_fields("capabilities")? else {
        return Ok(1);
    };
    let slots = capabilities.opt_integer_in("slots", 1..=limit::SLOTS)?.unwrap_or(1);
    Ok(u32::try_from(slots).expect("checked to be small"))
}

/// Names that mean something else in a path where a worker's id would stand: `POST /api/v1/workers/register`.
const RESERVED: [&str; 3] = ["register", "broadcast", "rebind"];

/// The interval of heartbeats where the server does not tell it (S2).
const INTERVAL: Millis = Millis(1_000);

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(body: &Value) -> Result<Registration, Problem> {
        read_registration(body, &body.to_string(), |text| match text {
            "http://10.0.0.7:9000/" => Ok("http://10.0.0.7:9000".into()),
            _ => Err("must be near"),
        })
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

    /// S1: a worker writes what the server reads.
    #[test]
    fn a_registration_is_written_and_read() {
        let request = RegisterRequest {
            worker: "W1".into(),
            role: "simulation".into(),
            cameras: 4,
            gpu: "RTX".into(),
            slots: 2,
            endpoint: None,
        };
        let mut expected = json!({"workerId": "W1", "role": "simulation", "currentSession": null,
            "capabilities": {"cameras": 4, "gpu": "RTX", "slots": 2}});
        let value =
            |request: &RegisterRequest| -> Value { serde_json::from_slice(&request.to_bytes()).unwrap() };
        assert_eq!(value(&request), expected);
        assert_eq!(read(&value(&request)).unwrap().slots, 2);
        expected["endpoint"] = json!("http://10.0.0.7:9000/");
        let pushed = RegisterRequest { endpoint: Some("http://10.0.0.7:9000/".into()), ..request };
        assert_eq!(value(&pushed), expected);
    }

    /// S1: the response to a registration; a token that does not fit in a header is refused.
    #[test]
    fn golden_register_response() {
        let response = RegisterResponse::new("W1".to_owned(), "t0ken".to_owned(), Millis(500), 7);
        let bytes = to_bytes(&response);
        let expected = json!({"workerId": "W1", "workerToken": "t0ken", "idRangeEndpoint": "/api/v1/id-ranges",
            "heartbeatIntervalMs": 500, "epoch": 7});
        assert_eq!(serde_json::from_slice::<Value>(&bytes).unwrap(), expected);
        let read = RegisterResponse::read(&bytes).unwrap();
        assert_eq!((read.worker_token.as_str(), read.heartbeat_interval_ms, read.epoch), ("t0ken", 500, 7));
        assert_eq!(
            RegisterResponse::read(br#"{"workerToken":"t","epoch":7}"#).ok().unwrap().heartbeat_interval_ms,
            1000
        );
        let error = RegisterResponse::read(br#"{"workerToken":"a\nb","epoch":7}"#).err().unwrap().to_string();
        assert!(error.starts_with("workerToken") && !error.contains("a\nb"), "{error}");
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
