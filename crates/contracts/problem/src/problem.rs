//! Error responses to rejected requests (I9, RFC 9457).

use axum_core::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header};
use serde::Serialize;
use serde_json::{Map, Value};

/// A refusal as `application/problem+json`.
///
/// Its response carries a copy of it as an extension, so that a dialect with members of its own (PostgREST's
/// `code`, `message`, …) can add them in one place to whatever the HTTP layer refused.
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

    /// Gives the response a header; the last one given counts.
    #[must_use]
    pub fn header(mut self, name: header::HeaderName, value: HeaderValue) -> Self {
        self.0.header = Some((name, value));
        self
    }

    /// The status of the response.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// Description of the error in this particular request.
    #[must_use]
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// Kind of the problem: a stable URN.
    #[must_use]
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// True if nothing was done because another server leads, or none.
    #[must_use]
    pub fn is_not_leading(&self) -> bool {
        self.0.kind.ends_with(":not-leading")
    }

    /// The body of the response.
    #[must_use]
    pub fn body(&self) -> String {
        serde_json::to_string(&self.0).expect("a problem has only text keys")
    }

    /// The path of the field that is to blame.
    #[must_use]
    pub fn field(&self) -> Option<&str> {
        self.0.field.as_deref()
    }

    /// Says it in other words.
    #[must_use]
    pub fn saying(mut self, detail: &str) -> Self {
        detail.clone_into(&mut self.0.detail);
        self
    }

    /// The response as status, headers and bytes.
    #[must_use]
    pub fn to_http(&self) -> http::Response<Vec<u8>> {
        let mut response = http::Response::new(self.body().into_bytes());
        *response.status_mut() = self.0.status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        if let Some((name, value)) = self.0.header.clone() {
            response.headers_mut().insert(name, value);
        }
        response
    }

    /// Names the field that is to blame.
    pub(crate) fn blaming(mut self, field: String) -> Self {
        self.0.field = Some(field);
        self
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = self.to_http().map(Body::from);
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
        write!(f, "{} {}: {}", self.0.status.as_u16(), self.0.title, self.0.detail)
    }
}

impl std::error::Error for Problem {}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn status_as_number<S: serde::Serializer>(status: &StatusCode, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u16(status.as_u16())
}

/// The media type of a problem.
pub const MEDIA_TYPE: &str = "application/problem+json";

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
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
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
        for problem in [Problem::busy("x"), Problem::too_many(1)] {
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
        let problem = Problem::not_found("no such row").with("code", "PGRST116").with("hint", Value::Null);
        let body = body_of(problem.into_response()).await;
        assert_eq!(body["code"], "PGRST116");
        assert_eq!(body["hint"], Value::Null);
    }
}
