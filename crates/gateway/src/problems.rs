//! Responses of a gateway that does not pass a request on, or gets no answer (I9).

use crate::head::Flaw;
use axum::http::{HeaderValue, StatusCode, header};
use muster_http::Problem;

/// 400: the request could be read in more than one way. Its connection is closed: where the next begins is unknown.
pub(crate) fn flawed(flaw: Flaw) -> Problem {
    Problem::bad_request(flaw.to_string()).header(header::CONNECTION, HeaderValue::from_static("close"))
}

/// 401: no token that the coordinator knows (P2).
pub(crate) fn invalid_token() -> Problem {
    let title = "A valid token is needed";
    Problem::new(StatusCode::UNAUTHORIZED, "unauthorized", title, "Invalid token")
        .header(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"muster\""))
}

/// 408: the body came too slowly, or not all of it in time.
pub(crate) fn too_slow() -> Problem {
    let title = "The body came too slowly";
    Problem::new(StatusCode::REQUEST_TIMEOUT, "too-slow", title, "send the body without long pauses")
}

/// 417: an expectation other than `100-continue`.
pub(crate) fn unexpected() -> Problem {
    let title = "The expectation cannot be met";
    Problem::new(StatusCode::EXPECTATION_FAILED, "expectation", title, "Expect may be 100-continue only")
}

/// 429: this caller has as many requests under way as one caller may.
pub(crate) fn share_taken() -> Problem {
    let detail = "too many requests from this address, or with this token, are under way; let some end first";
    Problem::new(StatusCode::TOO_MANY_REQUESTS, "too-many", "Too many requests", detail).retry_after(1)
}

/// 501: something of HTTP that ends at a gateway.
pub(crate) fn not_passed_on(what: &str) -> Problem {
    let detail = format!("{what} is not passed on");
    Problem::new(StatusCode::NOT_IMPLEMENTED, "not-implemented", "The gateway does not do this", detail)
}

/// 502: the coordinator broke off.
pub(crate) fn broke_off() -> Problem {
    let detail = "the coordinator broke off; whether the request took effect is unknown";
    Problem::new(StatusCode::BAD_GATEWAY, "broke-off", "The coordinator broke off", detail)
}

/// 503: the leader broke off, and the request must not arrive twice.
pub(crate) fn fate_unknown() -> Problem {
    let detail = "the leader broke off; whether the request took effect is unknown";
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "broke-off", "The leader broke off", detail).retry_after(1)
}

/// 503: there is nobody to pass a request on to.
pub(crate) fn nobody() -> Problem {
    Problem::busy("no coordinator is ready")
}

/// 504: the coordinator did not answer.
pub(crate) fn no_answer() -> Problem {
    let detail = "the coordinator did not answer in time; whether the request took effect is unknown";
    Problem::new(StatusCode::GATEWAY_TIMEOUT, "no-answer", "The coordinator did not answer", detail)
}
