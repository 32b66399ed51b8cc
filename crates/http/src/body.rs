//! Takes a request's body as JSON.

use crate::{HttpState, Problem, read_json};
use axum::{
    body::Bytes,
    extract::{DefaultBodyLimit, FromRequest, OptionalFromRequest, Request},
    http::{HeaderMap, StatusCode, header},
};
use serde_json::Value;

/// The body as JSON; `Option<JsonBody>` where it may be empty. Refuses with 415, 413 or 400.
#[derive(Clone, Debug)]
pub struct JsonBody(pub Value);

/// As [`JsonBody`], with the bytes as they came: for what must be kept letter by letter.
#[derive(Clone, Debug)]
pub struct JsonBytes {
    /// The bytes; valid JSON, UTF-8, without ambiguous keys.
    pub bytes: Bytes,
    /// The value they contain.
    pub value: Value,
}

/// The bytes of a JSON body, not read yet: for a dialect with a reader of its own. Refuses with 415 or 413.
#[derive(Clone, Debug)]
pub struct BodyBytes(pub Bytes);

impl FromRequest<HttpState> for BodyBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        read_bytes(request, http.settings.body_limit_bytes).await.map(Self)
    }
}

impl FromRequest<HttpState> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        let limit = http.settings.body_limit_bytes;
        read_json(&read_bytes(request, limit).await?, limit).map(Self)
    }
}

impl OptionalFromRequest<HttpState> for JsonBody {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Option<Self>, Problem> {
        let limit = http.settings.body_limit_bytes;
        let bytes = read_bytes(request, limit).await?;
        if bytes.is_empty() { Ok(None) } else { read_json(&bytes, limit).map(|value| Some(Self(value))) }
    }
}

impl FromRequest<HttpState> for JsonBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        let limit = http.settings.body_limit_bytes;
        let bytes = read_bytes(request, limit).await?;
        let value = read_json(&bytes, limit)?;
        Ok(Self { bytes, value })
    }
}

async fn read_bytes(mut request: Request, limit_bytes: usize) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::unsupported_media_type("application/json"));
    }
    DefaultBodyLimit::max(limit_bytes).apply(&mut request);
    Bytes::from_request(request, &()).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => Problem::too_large(limit_bytes),
        _ => Problem::bad_request("the body broke off"),
    })
}

/// A missing type is taken for JSON: small clients leave it out, and there is nothing else it could be.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence =
        value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || (essence.starts_with("application/") && essence.ends_with("+json"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    async fn status(content_type: &str, body: &'static str) -> Result<Bytes, u16> {
        let mut request = Request::new(Body::from(body));
        request.headers_mut().insert(header::CONTENT_TYPE, content_type.parse().unwrap());
        read_bytes(request, 4).await.map_err(|problem| problem.status().as_u16())
    }

    /// I9, N6: a body that is too long or of another type is refused.
    #[tokio::test]
    async fn a_body_is_json_and_short() {
        assert_eq!(status("application/json; charset=utf-8", "{}").await, Ok(Bytes::from("{}")));
        assert_eq!(status("application/vnd.pgrst.object+json", "{}").await, Ok(Bytes::from("{}")));
        assert_eq!(status("text/plain", "{}").await, Err(415));
        assert_eq!(status("application/x-www-form-urlencoded", "{}").await, Err(415));
        assert_eq!(status("application/json", "12345").await, Err(413));
    }
}
