//! The kinds of problem, one constructor each, by status.

use crate::Problem;
use http::{HeaderValue, StatusCode, header};

impl Problem {
    /// 400: the request breaks HTTP's own rules or cannot be read.
    #[must_use]
    pub fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-request", "The request cannot be understood", detail)
    }

    /// 400: the body is not JSON as we take it.
    #[must_use]
    pub fn bad_json(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "bad-json", "The body is not valid JSON", detail)
    }

    /// 401: no token, or a wrong one.
    #[must_use]
    pub fn unauthorized() -> Self {
        let detail = "give a valid token in the header Authorization: Bearer <token>";
        Self::new(StatusCode::UNAUTHORIZED, "unauthorized", "A valid token is needed", detail)
            .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"muster\""))
    }

    /// 401 in contract P's words (P2).
    #[must_use]
    pub fn invalid_token() -> Self {
        Self::unauthorized().saying("Invalid token")
    }

    /// 403 in contract P's words (P2).
    #[must_use]
    pub fn insufficient_role() -> Self {
        Self::forbidden("Insufficient role")
    }

    /// 403: we know the caller, and this is not for them.
    #[must_use]
    pub fn forbidden(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, "forbidden", "This is not allowed", detail)
    }

    /// 404: no such thing.
    #[must_use]
    pub fn not_found(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, "not-found", "There is no such thing", detail)
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
        Self::new(StatusCode::CONFLICT, "conflict", "The request does not fit the current state", detail)
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
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "too-large", "The body is too long", detail)
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
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, "unprocessable", title, detail).blaming(field)
    }

    /// 429: this caller asks too often.
    #[must_use]
    pub fn too_many(retry_after_s: u32) -> Self {
        let detail = format!("try again in {retry_after_s} s");
        Self::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many requests", detail)
            .retry_after(retry_after_s)
    }

    /// 503: we cannot do it now; the same request may work in a moment.
    ///
    /// The cause may be a database's own words, and anybody may read it: its first line is shown, and not without end.
    #[must_use]
    pub fn busy(detail: impl Into<String>) -> Self {
        let detail = in_one_line(&detail.into());
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "busy", "Not possible at the moment", detail)
            .retry_after(RETRY_AFTER_S)
    }

    /// 503: this server does not lead, and found nobody who does. Nothing was done; another server may know more.
    ///
    /// As much of the cause is shown as in [`Self::busy`].
    #[must_use]
    pub fn not_leading(detail: impl Into<String>) -> Self {
        let detail = in_one_line(&detail.into());
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "not-leading", "This server does not lead", detail)
            .retry_after(RETRY_AFTER_S)
    }

    /// 503: the request took longer than `server.request_timeout_s`.
    #[must_use]
    pub fn timed_out() -> Self {
        let detail = "the request took too long; whether it took effect is unknown";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "timed-out", "The request took too long", detail)
            .retry_after(RETRY_AFTER_S)
    }

    /// 500: our fault. What happened goes to the log, never to the caller.
    #[must_use]
    pub fn internal(error: &dyn std::fmt::Display) -> Self {
        tracing::error!(%error, "a request failed inside");
        let detail = "the server's log says more; quote the header x-request-id";
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something broke inside the server", detail)
    }
}

/// The first line of a text, without anything that moves a cursor, and no more of it than anybody reads.
fn in_one_line(text: &str) -> String {
    let line = text.trim_start().lines().next().unwrap_or_default();
    let line = line.replace(char::is_control, " ");
    match line.char_indices().nth(CAUSE_CHARS_MAX) {
        None => line,
        Some(_) => line.chars().take(CAUSE_CHARS_MAX - 1).chain(['…']).collect(),
    }
}

const CAUSE_CHARS_MAX: usize = 300;

/// Long enough for a restart of the term, short enough not to be noticed.
const RETRY_AFTER_S: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    /// I6, I9: of what a database says nobody is shown more than one short line: what follows may quote rows.
    #[test]
    fn a_cause_is_one_short_line() {
        let words = "ERROR: duplicate key\r\nDETAIL: Key (name)=(hunter2)\nHINT: hunter2";
        for problem in [Problem::busy(format!("not ready: {words}")), Problem::not_leading(words)] {
            assert!(problem.detail().ends_with("ERROR: duplicate key"), "{problem}");
        }
        let long = Problem::busy("\n é\u{1b}".to_owned() + &"é".repeat(1_000));
        assert_eq!(long.detail().chars().count(), 300);
        assert!(long.detail().starts_with("é é") && long.detail().ends_with("é…"), "{long}");
        assert_eq!(Problem::busy("x".repeat(300)).detail().len(), 300);
        assert_eq!(Problem::busy("").detail(), "");
    }
}
