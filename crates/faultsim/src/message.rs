//! Requests and responses of clients, operators and RPCs as bytes.
//!
//! A request is written as a foreign client writes it and read with the server's own parser; the server must understand
//! what was meant, or refuse what must be refused. A response is phrased with the server's own functions when the answer
//! leaves the coordinator, with what the store holds then. Its receiver has nothing else to decide by.

use crate::{
    checker::{Broken, Checker, Verdict, ensure},
    scene::Scene,
};
use http::{HeaderMap, HeaderValue, StatusCode};
use muster_engine::Engine;
use muster_model::{SubmissionKey, Timestamp};
use muster_problem::{Problem, read_json};
use muster_store::{Reader, StoreError};
use serde::Serialize;
use serde_json::Value;
use std::fmt::Debug;

/// A request: its headers and its body.
#[derive(Debug, Default)]
pub(crate) struct Request {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Request {
    pub(crate) fn json(body: &Value) -> Self {
        Self { headers: HeaderMap::new(), body: body.to_string().into_bytes() }
    }

    /// Adds the header that recognises a repeat.
    pub(crate) fn with_key(mut self, key: Option<&SubmissionKey>) -> Self {
        if let Some(key) = key {
            let value = HeaderValue::from_str(key.as_str()).expect("keys are printable");
            self.headers.insert("Idempotency-Key", value);
        }
        self
    }

    /// The body, as a route takes it that needs one.
    pub(crate) fn value(&self) -> Result<Value, Problem> {
        read_json(&self.body, BODY_BYTES_MAX)
    }

    /// The body, as a route takes it that needs none.
    pub(crate) fn opt_value(&self) -> Result<Option<Value>, Problem> {
        if self.body.is_empty() { Ok(None) } else { self.value().map(Some) }
    }
}

impl Scene {
    /// The command that the server understood. `None` if the request has a mistake, which must be refused by the name of
    /// its field.
    pub(crate) fn read_request<T: Debug>(
        &mut self,
        meant: &T,
        read: Result<T, Problem>,
        mistake: Option<&str>,
    ) -> Option<T> {
        let understood = self.understood(understand(meant, read, mistake))?;
        if understood.is_none() {
            self.count("request with a mistake refused");
        }
        understood
    }
}

fn understand<T: Debug>(
    meant: &T,
    read: Result<T, Problem>,
    mistake: Option<&str>,
) -> Result<Option<T>, Broken> {
    match (read, mistake) {
        (Ok(read), None) if is_same(meant, &read) => Ok(Some(read)),
        (Err(problem), Some(field)) => {
            let answer = Answer::read(&problem.to_http())?;
            ensure(answer.status == 422 && answer.blames(field), "mistake_misjudged", || {
                format!("{meant:?} with a wrong {field} was answered {answer:?}")
            })?;
            Ok(None)
        }
        (read, _) => Err(Broken::new("request_misread", format!("{meant:?} was read as {read:?}"))),
    }
}

/// True if two messages say the same.
fn is_same(one: &impl Debug, other: &impl Debug) -> bool {
    format!("{one:?}") == format!("{other:?}")
}

/// A response: its status, its headers and its body.
pub(crate) type Response = http::Response<Vec<u8>>;

/// A response with a JSON body.
pub(crate) fn respond(status: StatusCode, body: &impl Serialize) -> Result<Response, Problem> {
    let body = serde_json::to_vec(body).map_err(|error| Problem::internal(&error))?;
    let mut response = Response::new(body);
    *response.status_mut() = status;
    Ok(response)
}

/// A response without a body.
pub(crate) fn respond_empty(status: StatusCode) -> Response {
    let mut response = Response::default();
    *response.status_mut() = status;
    response
}

/// The parts of a server that a route looks at while it phrases a response, and the ledger that knows what must be in it.
#[derive(Clone, Copy)]
pub(crate) struct ServerView<'a> {
    pub(crate) reader: &'a dyn Reader,
    pub(crate) engine: &'a Engine,
    pub(crate) checker: &'a Checker,
    /// True if the server leads, so that the ledger knows what the store holds.
    pub(crate) leads: bool,
    pub(crate) now: Timestamp,
}

/// Something that the store must have.
pub(crate) fn stored<T>(read: Result<Option<T>, StoreError>) -> Result<T, Problem> {
    let found = read.map_err(|error| Problem::internal(&error))?;
    found.ok_or_else(|| Problem::not_found("the store does not have it"))
}

/// A response as its receiver reads it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Null where there is no body.
    pub(crate) body: Value,
}

impl Answer {
    /// Reads a response. A refusal must be a problem as RFC 9457 has it.
    pub(crate) fn read(response: &Response) -> Result<Self, Broken> {
        let (status, bytes) = (response.status().as_u16(), response.body());
        let body = if bytes.is_empty() { Ok(Value::Null) } else { serde_json::from_slice(bytes) };
        let body = body.map_err(|error| {
            Broken::new("response_unreadable", format!("{error} in {}", String::from_utf8_lossy(bytes)))
        })?;
        let answer = Self { status, body };
        let is_problem = answer.body["status"] == status && answer.body["detail"].is_string();
        ensure(status < 400 || is_problem, "response_unreadable", || format!("{answer:?}"))?;
        Ok(answer)
    }

    /// True if the request was carried out.
    pub(crate) fn is_done(&self) -> bool {
        self.status < 300
    }

    /// True if another try cannot have another outcome.
    pub(crate) fn is_final(&self) -> bool {
        self.status < 500
    }

    pub(crate) fn text(&self, field: &str) -> &str {
        self.body[field].as_str().unwrap_or_default()
    }

    /// Checks the status, and each named member of the body.
    pub(crate) fn expect(&self, status: u16, members: &[(&str, Value)]) -> Verdict {
        let wrong = members.iter().find(|(name, value)| self.body[*name] != *value);
        ensure(self.status == status && wrong.is_none(), "response_misphrased", || {
            format!("{self:?} instead of {status} with {wrong:?}")
        })
    }

    /// True if a field is named as the one to blame: in `field`, or, in contract P, in `detail`.
    fn blames(&self, field: &str) -> bool {
        self.text("field") == field || self.text("detail").contains(field)
    }
}

/// The limit of the server's routes.
const BODY_BYTES_MAX: usize = 1 << 20;
