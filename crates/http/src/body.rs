//! Takes a request's body as JSON.

use crate::{HttpState, Problem, read_json};
use axum::{
    body::{Body, Bytes, HttpBody},
    extract::{FromRequest, OptionalFromRequest, Request},
    http::{HeaderMap, header},
};
use serde_json::Value;
use std::{future::poll_fn, pin::Pin};

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

impl BodyBytes {
    /// Reads a body of at most `limit_bytes`, for routes with a limit of their own.
    ///
    /// # Errors
    /// 415 or 413; 400 if the body breaks off.
    pub async fn read(request: Request, limit_bytes: usize) -> Result<Self, Problem> {
        read_bytes(request, limit_bytes).await.map(Self)
    }
}

impl FromRequest<HttpState> for BodyBytes {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        Self::read(request, http.settings.body_limit_bytes).await
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

async fn read_bytes(request: Request, limit_bytes: usize) -> Result<Bytes, Problem> {
    if !is_json(request.headers()) {
        return Err(Problem::unsupported_media_type("application/json"));
    }
    let mut body = request.into_body();
    let first = next_piece(&mut body).await?.unwrap_or_default();
    if first.len() > limit_bytes {
        return Err(Problem::too_large(limit_bytes));
    }
    // Nearly every body comes in one piece, which then need not be copied.
    if body.is_end_stream() {
        return Ok(first);
    }
    let mut whole = Vec::from(first);
    while let Some(piece) = next_piece(&mut body).await? {
        if whole.len() + piece.len() > limit_bytes {
            return Err(Problem::too_large(limit_bytes));
        }
        whole.extend_from_slice(&piece);
    }
    Ok(whole.into())
}

/// The next bytes of a body; `None` at its end.
async fn next_piece(body: &mut Body) -> Result<Option<Bytes>, Problem> {
    loop {
        let frame = poll_fn(|context| Pin::new(&mut *body).poll_frame(context)).await.transpose();
        match frame.map_err(|_| Problem::bad_request("the body broke off"))?.map(|frame| frame.into_data()) {
            Some(Ok(piece)) => return Ok(Some(piece)),
            // Trailers; nobody reads them.
            Some(Err(_)) => {}
            None => return Ok(None),
        }
    }
}

/// A missing type is taken for JSON: small clients leave it out, and there is nothing else it could be.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(value) = headers.get(header::CONTENT_TYPE) else {
        return true;
    };
    let essence = value.to_str().unwrap_or_default().split(';').next().unwrap_or_default().trim();
    let is = |part: Option<&str>, word: &str| part.is_some_and(|part| part.eq_ignore_ascii_case(word));
    let is_suffixed = || {
        let end = essence.len().saturating_sub(SUFFIX.len());
        is(essence.get(..PREFIX.len()), PREFIX) && is(essence.get(end..), SUFFIX)
    };
    essence.eq_ignore_ascii_case("application/json") || is_suffixed()
}

const PREFIX: &str = "application/";
const SUFFIX: &str = "+json";

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
