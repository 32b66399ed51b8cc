//! What a caller is told when a request is refused (I9, RFC 9457).

use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use muster_coordinator::Refusal;
use muster_model::Rejection;
use serde::Serialize;
use serde_json::{Map, Value};

/// A refusal as `application/problem+json`.
///
/// Its response carries a copy of it as an extension, so that a dialect with members of its own (PostgREST's
/// `code`, `message`, …) can add them in one place to whatever the door refused.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem(Box<Members>);

/// What stands in the body; boxed, so that a `Result` with a problem in it stays small.
#[derive(Clone, Debug, PartialEq, Serialize, utoipa::ToSchema)]
struct Members {
    /// Identifies the kind of problem; stable.
    #[serde(rename = "type")]
    #[schema(example = "urn:muster:problem:unprocessable")]
    kind: String,
    /// The kind of problem in words; the same for every problem of the kind.
    #[schema(example = "A field has a value it cannot have")]
    title: String,
    /// The status of the response.
    #[serde(serialize_with = "status_as_number")]
    #[schema(value_type = u16, example = 422)]
    status: StatusCode,
    /// What is wrong with this very request.
    #[schema(example = "max_jobs must be an integer from 0 to 10000")]
    detail: String,
    /// The field of the request that is to blame, as a path such as `devices[3].device_id`.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    #[serde(flatten)]
    #[schema(ignore)]
    extra: Map<String, Value>,
    #[serde(skip)]
    #[schema(ignore)]
    header: Option<(header::HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem of a kind the other constructors do not know; `slug` ends its `type`.
    #[must_use]
    pub fn new(status: StatusCode, slug: &str, title: &str, detail: impl Into<String>) -> Self {
        Self(Box::new(Members {
            kind: format!("urn:muster:problem:{slug}"),
            title: title.to_owned(),
            status,
            detail: detail.into(),
            field: None,
            extra: Map::new(),
            header: None,
        }))
    }

    /// 400: the request breaks HTTP's own rules or cannot be read.
    #[must_use]
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-request",
            "The request cannot be understood",
            detail,
        )
    }

    /// 400: the body is not JSON as we take it.
    #[must_use]
    pub fn bad_json(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::BAD_REQUEST,
            "bad-json",
            "The body is not valid JSON",
            detail,
        )
    }

    /// 401: no token, or a wrong one.
    #[must_use]
    pub fn unauthorized() -> Self {
        let detail = "give a valid token in the header Authorization: Bearer <token>";
        Self::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "A valid token is needed",
            detail,
        )
        .header(
            header::WWW_AUTHENTICATE,
            HeaderValue::from_static("Bearer realm=\"muster\""),
        )
    }

    /// 403: we know the caller, and this is not for them.
    #[must_use]
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail)
    }

    /// 404: no such thing.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "not-found",
            "There is no such thing",
            detail,
        )
    }

    /// 405: the route exists, the method does not.
    #[must_use]
    pub fn method_not_allowed(method: &str) -> Self {
        let detail = format!("{method} is not possible here; see the header Allow");
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "method-not-allowed",
            "The method is not possible here",
            detail,
        )
    }

    /// 409: the request does not fit the state of things.
    #[must_use]
    pub fn conflict(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::CONFLICT,
            "conflict",
            "The request does not fit the current state",
            detail,
        )
    }

    /// 410: it was there once.
    #[must_use]
    pub fn gone(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::GONE, "gone", "This is no longer kept", detail)
    }

    /// 413: the body is too long.
    #[must_use]
    pub fn too_large(limit_bytes: usize) -> Self {
        let detail = format!("the body may have at most {limit_bytes} bytes");
        Self::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            "too-large",
            "The body is too long",
            detail,
        )
    }

    /// 415: the body is of a type we do not read.
    #[must_use]
    pub fn unsupported_media_type(expected: &str) -> Self {
        let detail = format!("the body must be {expected}; say so in the header Content-Type");
        Self::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "The body's type is not read here",
            detail,
        )
    }

    /// 422: a field has a value it cannot have. `detail` goes on where the field's path ends: "must be …".
    #[must_use]
    pub fn unprocessable(field: impl Into<String>, detail: &str) -> Self {
        let field = field.into();
        let subject = if field.is_empty() { "the body" } else { &field };
        let detail = format!("{subject} {detail}");
        let title = "A field has a value it cannot have";
        let mut problem = Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", title, detail);
        problem.0.field = Some(field);
        problem
    }

    /// 429: this caller asks too often.
    #[must_use]
    pub fn too_many(retry_after_s: u32) -> Self {
        let detail = format!("try again in {retry_after_s} s");
        Self::new(
            StatusCode::TOO_MANY_REQUESTS,
            "too-many",
            "Too many requests",
            detail,
        )
        .retry_after(retry_after_s)
    }

    /// 503: we cannot do it now; the same request may work in a moment.
    #[must_use]
    pub fn busy(detail: impl Into<String>) -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "busy",
            "Not possible at the moment",
            detail,
        )
        .retry_after(RETRY_AFTER_S)
    }

    /// 503: the request took longer than `server.request_timeout_s`.
    #[must_use]
    pub fn timed_out() -> Self {
        let detail = "the request took too long; whether it took effect is unknown";
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "timed-out",
            "The request took too long",
            detail,
        )
        .retry_after(RETRY_AFTER_S)
    }

    /// 500: our fault. What happened goes to the log, never to the caller.
    #[must_use]
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed inside");
        let detail = "the server's log says more; quote the header x-request-id";
        Self::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "internal",
            "Something broke inside the server",
            detail,
        )
    }

    /// The problem that a refusal of the coordinator makes; `phrase` has the dialect's words for a rejection.
    #[must_use]
    pub fn of_refusal(refusal: Refusal, phrase: impl FnOnce(Rejection) -> Self) -> Self {
        match refusal {
            Refusal::Rejected(rejection) => phrase(rejection),
            Refusal::Busy => Self::busy("too many requests wait; try again"),
            Refusal::Unavailable => {
                Self::busy("the coordinator is restarting; whether it took effect is unknown")
            }
            Refusal::Store(error) => {
                tracing::error!(%error, "the store failed a read");
                Self::busy("the store cannot be read at the moment")
            }
        }
    }

    /// Adds a member of a dialect's own.
    #[must_use]
    pub fn with(mut self, member: &str, value: impl Into<Value>) -> Self {
        self.0.extra.insert(member.to_owned(), value.into());
        self
    }

    /// Says when to come again.
    #[must_use]
    pub fn retry_after(self, seconds: u32) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// What is wrong with this very request.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The path of the field that is to blame.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    fn header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = serde_json::to_string(&self.0).expect("a problem has only text keys");
        let mut response = (self.0.status, [(header::CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        if let Some((name, value)) = self.0.header.clone() {
            response.headers_mut().insert(name, value);
        }
        response.extensions_mut().insert(self);
        response
    }
}

impl utoipa::PartialSchema for Problem {
    fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
        Members::schema()
    }
}

impl utoipa::ToSchema for Problem {}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{} {}: {}",
            self.0.status.as_u16(),
            self.0.title,
            self.0.detail
        )
    }
}

impl std::error::Error for Problem {}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn status_as_number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

/// The media type of a problem.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// Long enough for a restart of the term, short enough not to be noticed.
const RETRY_AFTER_S: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    async fn body_of(response: Response) -> Value {
        let bytes = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    /// I9: a problem has type, title, status and detail, and its own media type.
    #[tokio::test]
    async fn a_problem_names_the_field() {
        let response = Problem::unprocessable("devices[3].device_id", "is missing").into_response();
        assert_eq!(response.status(), 422);
        assert_eq!(
            response.headers()[header::CONTENT_TYPE],
            "application/problem+json"
        );
        let body = body_of(response).await;
        assert_eq!(body["type"], "urn:muster:problem:unprocessable");
        assert_eq!(body["status"], 422);
        assert_eq!(body["field"], "devices[3].device_id");
        assert_eq!(body["detail"], "devices[3].device_id is missing");
        assert!(body["title"].is_string());
    }

    /// I9: overload says when to come again.
    #[test]
    fn overload_says_when_to_come_again() {
        for problem in [
            Problem::busy("x"),
            Problem::too_many(1),
            Problem::of_refusal(Refusal::Busy, |_| unreachable!()),
        ] {
            assert_eq!(problem.into_response().headers()[header::RETRY_AFTER], "1");
        }
    }

    /// I6: what broke inside is not told outside.
    #[tokio::test]
    async fn an_inner_error_stays_inside() {
        let body = body_of(Problem::internal(&"password=hunter2").into_response()).await;
        assert!(!body.to_string().contains("hunter2"));
    }

    /// Q14: a dialect can add members of its own.
    #[tokio::test]
    async fn members_can_be_added() {
        let problem = Problem::not_found("no such row")
            .with("code", "PGRST116")
            .with("hint", Value::Null);
        let body = body_of(problem.into_response()).await;
        assert_eq!(body["code"], "PGRST116");
        assert_eq!(body["hint"], Value::Null);
    }
}
