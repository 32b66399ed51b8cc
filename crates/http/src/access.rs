//! Gives each request an id, a line in the log and a place in the counts.

use crate::{LEADER_PROOF, Metrics, Middleware, Next, metrics::Counted};
use axum::{
    extract::{MatchedPath, Request},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::Response,
};
use muster_coordinator::instant_now;
use std::sync::Arc;
use tracing::Instrument;

/// Follows a request from its arrival until its response begins.
pub(crate) struct AccessLog(pub(crate) Arc<Metrics>);

impl Middleware for AccessLog {
    /// Neither the query nor any header is logged: both may carry secrets.
    async fn handle(&self, request: Request, next: impl Next) -> Response {
        let began = instant_now();
        let id = request_id(request.headers());
        let method = method_name(request.method());
        let matched = request.extensions().get::<MatchedPath>().cloned();
        let uri = request.uri().clone();
        let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());

        let mut response = next.run(request).instrument(span.clone()).await;

        let route = matched.as_ref().map_or("unmatched", MatchedPath::as_str);
        let (path, status, took) = (uri.path(), response.status().as_u16(), began.elapsed());
        self.0.count_request(&Counted { route, method, status, took });
        let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        span.in_scope(|| match is_quiet(route, status) {
            true => tracing::debug!(method, path, status, ms, "answered"),
            false => tracing::info!(method, path, status, ms, "answered"),
        });
        finish_headers(response.headers_mut(), id);
        response
    }
}

/// True if a line about it would only fill the log. Refusals of what is routine are told all the same, but for files of
/// the dashboard that do not exist: strangers ask for those all day.
fn is_quiet(route: &str, status: u16) -> bool {
    let is_missing_file = route.starts_with(FILES) && status == StatusCode::NOT_FOUND.as_u16();
    is_routine(route) && (status < 400 || is_missing_file)
}

/// True if workers, probes or pages ask this so often that a log of it would hide what people do.
fn is_routine(route: &str) -> bool {
    const ROUTINE: [&str; 12] = [
        "/healthz",
        "/readyz",
        "/metrics",
        LEADER_PROOF,
        "/api/nodes/pull",
        "/api/nodes/callback",
        "/api/nodes/callbacks",
        "/api/overview",
        "/jobs/poll",
        "/jobs/submit",
        "/jobs/work",
        "/api/v1/workers/{id}/tasks",
    ];
    ROUTINE.contains(&route)
        || route.starts_with(FILES)
        || route.ends_with("/heartbeat")
        || route.ends_with("/progress")
}

/// Path of the dashboard's files.
const FILES: &str = "/ui/";

fn finish_headers(headers: &mut HeaderMap, id: HeaderValue) {
    headers.insert(REQUEST_ID, id);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
}

/// Methods are free text; as a label that would let callers fill our memory.
pub(crate) fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => "OTHER",
    }
}

/// The caller's own id if it is harmless, else a new one.
#[must_use]
pub fn request_id(headers: &HeaderMap) -> HeaderValue {
    let is_fine = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let mut given = headers.get_all(REQUEST_ID).iter();
    let first = given.next().filter(|id| (1..=64).contains(&id.len()) && id.as_bytes().iter().all(is_fine));
    first.filter(|_| given.next().is_none()).cloned().unwrap_or_else(new_id)
}

/// 16 random hexadecimal digits.
fn new_id() -> HeaderValue {
    let mut bits = rand::random::<u64>();
    let digits: [u8; 16] = std::array::from_fn(|_| {
        bits = bits.rotate_left(4);
        b"0123456789abcdef"[(bits & 0xf) as usize]
    });
    HeaderValue::from_bytes(&digits).expect("hexadecimal digits make a header value")
}

/// The header that carries it, both ways.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_workers_ask_all_day_is_routine_and_what_people_do_is_not() {
        assert!(
            ["/api/nodes/pull", "/jobs/work", "/ui/{*path}", "/workers/heartbeat"]
                .map(is_routine)
                .iter()
                .all(|routine| *routine)
        );
        assert!(!["/api/runs", "/api/nodes/{id}/drain", "/jobs"].map(is_routine).contains(&true));
    }

    #[test]
    fn refusals_are_told_but_for_files_that_nobody_has() {
        for (route, status) in [("/jobs/work", 200), ("/ui/{*path}", 304), ("/ui/{*path}", 404)] {
            assert!(is_quiet(route, status), "{route} {status}");
        }
        for (route, status) in [
            ("/jobs/work", 404),
            ("/ui/{*path}", 405),
            ("/ui/{*path}", 500),
            ("/api/runs", 200),
            ("unmatched", 404),
        ] {
            assert!(!is_quiet(route, status), "{route} {status}");
        }
    }

    fn kept(ids: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        for id in ids {
            headers.append(REQUEST_ID, id.parse().unwrap());
        }
        ids.contains(&request_id(&headers).to_str().unwrap())
    }

    /// P16: a harmless id is kept, any other replaced; two are none.
    #[test]
    fn a_harmless_id_is_kept() {
        assert!(kept(&["Abc-1._x"]));
        for bad in ["", "a b", "a;b", &"x".repeat(65)] {
            assert!(!kept(&[bad]), "{bad}");
        }
        assert!(!kept(&["a", "b"]));
        assert_eq!(request_id(&HeaderMap::new()).len(), 16);
        assert_ne!(request_id(&HeaderMap::new()), request_id(&HeaderMap::new()));
    }
}
