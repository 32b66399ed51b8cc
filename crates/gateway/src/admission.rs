//! Requirements for passing a request on, apart from its token (P16, I7).

use crate::problems;
use axum::http::{HeaderMap, Method, StatusCode, header, request::Parts, uri::Authority};
use muster_http::Problem;
use std::net::IpAddr;

/// Refuses what ends at a gateway, what came by a forged name and what announces too long a body.
pub(crate) fn admit(parts: &Parts, rules: &Rules) -> Result<(), Problem> {
    let Parts { method, uri, headers, .. } = parts;
    check_host(headers, &rules.hosts)?;
    if *method == Method::CONNECT || *method == Method::TRACE {
        return Err(problems::not_passed_on(method.as_str()));
    }
    if headers.contains_key(header::UPGRADE) {
        return Err(problems::not_passed_on("a change of protocol"));
    }
    let is_continue = |value: &[u8]| value.eq_ignore_ascii_case(b"100-continue");
    if headers.get_all(header::EXPECT).iter().any(|value| !is_continue(value.as_bytes())) {
        return Err(problems::unexpected());
    }
    let body_max = rules.body_max(uri.path(), headers);
    if declared(headers).is_some_and(|length| length > body_max) {
        return Err(Problem::too_large(usize::try_from(body_max).unwrap_or(usize::MAX)));
    }
    check_size(headers)
}

/// Settings of these requirements.
#[derive(Clone, Debug)]
pub(crate) struct Rules {
    pub(crate) hosts: Vec<String>,
    pub(crate) body_limit_bytes: u64,
}

impl Rules {
    /// Maximum length of a body. A batch of a thousand jobs or results may be longer than other bodies. As in the
    /// coordinator, the longer limit requires a declared length.
    pub(crate) fn body_max(&self, path: &str, headers: &HeaderMap) -> u64 {
        match path {
            "/jobs/batch" | "/jobs/work" if declared(headers).is_some() => {
                self.body_limit_bytes.saturating_mul(TIMES_AS_LONG)
            }
            _ if is_open(path) => self.body_limit_bytes.min(OPEN_BODY_MAX),
            _ => self.body_limit_bytes,
        }
    }
}

/// True if a path is open to everybody. One that only begins like it is not, wherever its dots would lead.
pub(crate) fn is_open(path: &str) -> bool {
    matches!(path, "/auth/login" | "/healthz" | "/readyz" | "/openapi.json" | "/docs")
        || (path.starts_with("/docs/") && !has_detour(path))
        || is_page(path)
}

/// True if a path is the dashboard's page or a file that it loads: the same for everybody, at every server.
pub(crate) fn is_page(path: &str) -> bool {
    path == "/" || (path.starts_with("/ui/") && !has_detour(path))
}

fn has_detour(path: &str) -> bool {
    path.contains("..") || path.contains('%') || path.contains("//")
}

fn declared(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// An address cannot be rebound to another machine; a name can, so it must be known.
fn check_host(headers: &HeaderMap, hosts: &[String]) -> Result<(), Problem> {
    // Before HTTP/1.1 there was none; where there must be one, the reading of the head has seen to it.
    let Some(host) = headers.get(header::HOST) else {
        return Ok(());
    };
    let host = host.to_str().ok().and_then(|host| host.parse::<Authority>().ok());
    let host = host.filter(|host| !host.as_str().contains('@'));
    let host = host.ok_or_else(|| Problem::bad_request("the header Host must name one host"))?;
    let name = host.host();
    let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    let is_listed = hosts.iter().any(|listed| listed.eq_ignore_ascii_case(name));
    if is_address || name.eq_ignore_ascii_case("localhost") || is_listed {
        return Ok(());
    }
    Err(Problem::forbidden("this gateway is not known by that name; name it with --host"))
}

/// The coordinator would refuse more, after having been sent it.
fn check_size(headers: &HeaderMap) -> Result<(), Problem> {
    let bytes: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if bytes <= HEADER_BYTES_MAX {
        return Ok(());
    }
    let (status, title) = (StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE, "The headers are too long");
    let detail = format!("all headers together may have at most {HEADER_BYTES_MAX} bytes");
    Err(Problem::new(status, "headers-too-long", title, detail))
}

const HEADER_BYTES_MAX: usize = 32 * 1024;

/// Of strangers: a name and a password.
const OPEN_BODY_MAX: u64 = 8 * 1024;

/// As for the coordinator.
const TIMES_AS_LONG: u64 = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::Request;

    fn status(method: Method, pairs: &[(&'static str, &str)]) -> u16 {
        status_at("/x", method, pairs)
    }

    fn status_at(path: &str, method: Method, pairs: &[(&'static str, &str)]) -> u16 {
        let (mut parts, ()) = Request::builder().method(method).uri(path).body(()).unwrap().into_parts();
        for (name, value) in pairs {
            parts.headers.append(*name, value.parse().unwrap());
        }
        let rules = Rules { hosts: vec!["gw.example".to_owned()], body_limit_bytes: 10 };
        admit(&parts, &rules).map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    /// P16: no tunnel, no change of protocol and no unknown expectation passes.
    #[test]
    fn what_ends_here_is_refused() {
        assert_eq!(status(Method::GET, &[]), 200);
        assert_eq!(status(Method::CONNECT, &[]), 501);
        assert_eq!(status(Method::TRACE, &[]), 501);
        assert_eq!(status(Method::GET, &[("connection", "upgrade"), ("upgrade", "websocket")]), 501);
        assert_eq!(status(Method::POST, &[("expect", "100-Continue")]), 200);
        assert_eq!(status(Method::POST, &[("expect", "200-ok")]), 417);
    }

    /// I9: what announces too much is refused before it is sent.
    #[test]
    fn sizes_are_bounded() {
        assert_eq!(status(Method::POST, &[("content-length", "10")]), 200);
        assert_eq!(status(Method::POST, &[("content-length", "11")]), 413);
        assert_eq!(status(Method::GET, &[("x", &"y".repeat(HEADER_BYTES_MAX))]), 431);
    }

    /// P16, I9: what holds many jobs or results may be as long as the coordinator lets it be, if its length is said.
    #[test]
    fn batches_may_be_longer() {
        for path in ["/jobs/batch", "/jobs/work"] {
            assert_eq!(status_at(path, Method::POST, &[("content-length", "160")]), 200, "{path}");
            assert_eq!(status_at(path, Method::POST, &[("content-length", "161")]), 413, "{path}");
        }
        assert_eq!(status_at("/jobs/batch/x", Method::POST, &[("content-length", "160")]), 413);
        let rules = Rules { hosts: Vec::new(), body_limit_bytes: 10 };
        assert_eq!(rules.body_max("/jobs/batch", &HeaderMap::new()), 10);
    }

    /// I9: strangers send little.
    #[test]
    fn open_paths_take_little() {
        let rules = Rules { hosts: Vec::new(), body_limit_bytes: 1 << 20 };
        assert_eq!(rules.body_max("/auth/login", &HeaderMap::new()), OPEN_BODY_MAX);
        assert_eq!(rules.body_max("/jobs", &HeaderMap::new()), 1 << 20);
        assert_eq!(status_at("/auth/login", Method::POST, &[("content-length", "11")]), 413);
    }

    /// I7: a name that an attacker's DNS points here is refused.
    #[test]
    fn a_name_must_be_known() {
        for host in ["127.0.0.1:7401", "[::1]", "localhost:1", "gw.example", "GW.example:7401"] {
            assert_eq!(status(Method::GET, &[("host", host)]), 200, "{host}");
        }
        assert_eq!(status(Method::GET, &[("host", "evil.example")]), 403);
        assert_eq!(status(Method::GET, &[("host", "a@127.0.0.1")]), 400);
        assert_eq!(status(Method::GET, &[("host", "a b")]), 400);
    }

    /// P16: few paths are open, and none by a detour.
    #[test]
    fn few_paths_are_open() {
        for open in [
            "/auth/login",
            "/healthz",
            "/readyz",
            "/openapi.json",
            "/docs",
            "/docs/scalar.js",
            "/",
            "/ui/a.js",
        ] {
            assert!(is_open(open), "{open}");
        }
        for closed in [
            "",
            "//",
            "/jobs",
            "/auth/me",
            "/auth/login/",
            "/docs/../jobs",
            "/docs/%2e%2e/jobs",
            "/docsx",
            "//docs",
            "/docs//x",
            "/ui",
            "/uix",
            "/ui/../jobs",
            "/ui/%2e%2e/jobs",
        ] {
            assert!(!is_open(closed), "{closed}");
        }
    }
}
