//! Refuses requests that a page elsewhere or a forged name led here (I7).
//!
//! A browser can be made to call us from any page, and by a name an attacker's DNS points at us. Both show in
//! headers a page cannot forge: `Host` says which name was called, `Origin` which page calls.

use crate::{HttpSettings, Middleware, Next, Problem};
use axum::{
    extract::Request,
    http::{HeaderMap, Uri, Version, header, uri::Authority},
    response::{IntoResponse, Response},
};
use std::{net::IpAddr, sync::Arc};

/// Marks a request that another server of ours let in and passed on: its names were looked at there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vouched;

/// Lets a request through if its `Host` and `Origin` are ours.
pub(crate) struct NameGuard(pub(crate) Arc<HttpSettings>);

impl Middleware for NameGuard {
    async fn handle(&self, request: Request, next: impl Next) -> Response {
        let is_vouched = request.extensions().get::<Vouched>().is_some();
        match if is_vouched { Ok(()) } else { check_names(&self.0, &request) } {
            Ok(()) => next.run(request).await,
            Err(problem) => problem.into_response(),
        }
    }
}

/// Refuses a request whose `Host` or `Origin` is not ours (I7).
///
/// # Errors
/// 400 where it names no one host, 403 where it names another or comes from a page elsewhere.
pub fn check_names(settings: &HttpSettings, request: &Request) -> Result<(), Problem> {
    let Some(host) = host_of(request)? else {
        // Before HTTP/1.1 there was no Host; no browser speaks that.
        return if request.headers().contains_key(header::ORIGIN) { Err(foreign_origin()) } else { Ok(()) };
    };
    if !is_ours(settings, &host) {
        return Err(Problem::forbidden("this server is not known by that name; name it in server.hosts"));
    }
    check_origin(settings, request.headers(), &host)
}

/// The name the caller used for us.
fn host_of(request: &Request) -> Result<Option<Authority>, Problem> {
    let mut values = request.headers().get_all(header::HOST).iter();
    let Some(value) = values.next() else {
        let may_lack = request.version() < Version::HTTP_11;
        return if may_lack { Ok(None) } else { Err(Problem::bad_request("the header Host is missing")) };
    };
    let host = value.to_str().ok().and_then(|text| text.parse::<Authority>().ok());
    let host = host.filter(|host| values.next().is_none() && !host.as_str().contains('@'));
    let host = host.ok_or_else(|| Problem::bad_request("the header Host must name one host"))?;
    match request.uri().authority() {
        Some(target) if target != &host => {
            Err(Problem::bad_request("the header Host is not the one of the address"))
        }
        _ => Ok(Some(host)),
    }
}

/// An address cannot be rebound to another machine; a name can, so it must be known.
fn is_ours(settings: &HttpSettings, host: &Authority) -> bool {
    let name = host.host();
    let is_address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>().is_ok();
    let is_listed =
        |listed: &String| listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(host.as_str());
    is_address || name.eq_ignore_ascii_case("localhost") || settings.hosts.iter().any(is_listed)
}

fn check_origin(settings: &HttpSettings, headers: &HeaderMap, host: &Authority) -> Result<(), Problem> {
    let mut values = headers.get_all(header::ORIGIN).iter();
    let Some(value) = values.next() else {
        return Ok(());
    };
    let origin = value.to_str().unwrap_or_default();
    let is_listed = settings.origins.iter().any(|listed| listed.eq_ignore_ascii_case(origin));
    let is_allowed = values.next().is_none() && (is_listed || is_same(origin, host));
    if is_allowed { Ok(()) } else { Err(foreign_origin()) }
}

fn is_same(origin: &str, host: &Authority) -> bool {
    let Ok(origin) = origin.parse::<Uri>() else {
        return false;
    };
    let default_port = match origin.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return false,
    };
    let same_port = origin.port_u16().unwrap_or(default_port) == host.port_u16().unwrap_or(default_port);
    same_port && origin.host().is_some_and(|name| name.eq_ignore_ascii_case(host.host()))
}

fn foreign_origin() -> Problem {
    Problem::forbidden("pages of another origin may not call this; list theirs in server.origins")
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::body::Body;

    fn status(headers: &[(&str, &str)]) -> u16 {
        let mut request = axum::http::Request::builder().method("GET").uri("/healthz");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let settings = HttpSettings {
            hosts: vec!["muster.example".to_owned()],
            origins: vec!["https://board.example".to_owned()],
            ..HttpSettings::default()
        };
        check_names(&settings, &request.body(Body::empty()).unwrap())
            .map_or_else(|problem| problem.status().as_u16(), |()| 200)
    }

    /// I7: names that DNS could point here are refused unless listed.
    #[test]
    fn only_our_own_names_are_answered() {
        for ours in
            ["127.0.0.1:7400", "localhost:7400", "[::1]:7400", "10.0.0.7", "LOCALHOST", "muster.example:7400"]
        {
            assert_eq!(status(&[("host", ours)]), 200, "{ours}");
        }
        for other in
            ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example:7400", "muster.example.evil"]
        {
            assert_eq!(status(&[("host", other)]), 403, "{other}");
        }
        for broken in [
            &[][..],
            &[("host", "a b")],
            &[("host", "x@localhost")],
            &[("host", "localhost"), ("host", "localhost")],
        ] {
            assert_eq!(status(broken), 400, "{broken:?}");
        }
    }

    /// I7: pages elsewhere are refused on every verb; our own and listed ones are not.
    #[test]
    fn only_our_own_pages_may_call() {
        let from = |origin| status(&[("host", "localhost:7400"), ("origin", origin)]);
        assert_eq!(from("http://localhost:7400"), 200);
        assert_eq!(from("https://board.example"), 200);
        for other in [
            "http://localhost:9999",
            "http://localhost",
            "http://127.0.0.1:7400",
            "https://evil.example",
            "null",
            "",
        ] {
            assert_eq!(from(other), 403, "{other}");
        }
        assert_eq!(status(&[("host", "10.0.0.7"), ("origin", "http://10.0.0.7")]), 200);
        assert_eq!(status(&[("host", "10.0.0.7"), ("origin", "http://10.0.0.7:8080")]), 403);
        let twice = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://localhost")];
        assert_eq!(status(&twice), 403);
    }

    /// I7: a fetch without Origin is judged by Host alone, whatever its `sec-fetch-mode`.
    #[test]
    fn other_fetch_headers_do_not_matter() {
        assert_eq!(status(&[("host", "localhost:7400"), ("sec-fetch-mode", "cors")]), 200);
    }
}
