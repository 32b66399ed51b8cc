//! The headers of a request as the coordinator gets them, without those meant for one connection only (P16).

use crate::forward::{HOPS, PEER, PROOF};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri, header, uri::Authority};
use muster_http::{Peer, REQUEST_ID};

/// Makes the headers that travel on. What a caller says about whom it stands for is replaced by what is known.
pub(crate) fn outgoing(headers: &HeaderMap, peer: Option<Peer>, id: HeaderValue) -> HeaderMap {
    let mut headers = headers.clone();
    strip(&mut headers);
    drop_own_origin(&mut headers);
    let claims: Vec<HeaderName> = headers.keys().filter(|name| is_claim(name)).cloned().collect();
    for name in claims.iter().chain([&header::HOST, &header::EXPECT]) {
        headers.remove(name);
    }
    if let Some(Peer(Some(address))) = peer {
        let address = HeaderValue::from_str(&address.to_string()).expect("an address is plain text");
        headers.insert(FORWARDED_FOR, address);
    }
    headers.insert(FORWARDED_PROTO, HeaderValue::from_static("http"));
    headers.insert(REQUEST_ID, id);
    headers
}

/// True for headers by which a caller could pass for another.
fn is_claim(name: &HeaderName) -> bool {
    let name = name.as_str();
    matches!(name, "forwarded" | "x-real-ip" | HOPS | PEER | PROOF) || name.starts_with("x-forwarded-")
}

/// A page that came from this gateway calls its own origin; the coordinator, known by another name, would take it for a
/// foreign one (I7).
fn drop_own_origin(headers: &mut HeaderMap) {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let host = text(header::HOST).and_then(|host| host.parse::<Authority>().ok());
    let origin = text(header::ORIGIN).and_then(|origin| origin.parse::<Uri>().ok());
    let is_own = matches!((&host, &origin), (Some(host), Some(origin)) if is_same(origin, host));
    if is_own && headers.get_all(header::ORIGIN).iter().count() == 1 {
        headers.remove(header::ORIGIN);
    }
}

fn is_same(origin: &Uri, host: &Authority) -> bool {
    let default_port = match origin.scheme_str() {
        Some("http") => 80,
        Some("https") => 443,
        _ => return false,
    };
    let same_port = origin.port_u16().unwrap_or(default_port) == host.port_u16().unwrap_or(default_port);
    same_port && origin.host().is_some_and(|name| name.eq_ignore_ascii_case(host.host()))
}

const FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");

/// Removes what concerns one connection and not the message, and whatever `Connection` names.
pub(crate) fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .flat_map(|value| value.as_bytes().split(|byte| *byte == b','))
        .filter_map(|name| HeaderName::from_bytes(name.trim_ascii()).ok())
        .collect();
    let of_proxies: Vec<HeaderName> =
        headers.keys().filter(|name| name.as_str().starts_with("proxy-")).cloned().collect();
    for name in named.iter().chain(&of_proxies).chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
}

const HOP_BY_HOP: [HeaderName; 6] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        outgoing(&headers, Some(Peer::at("192.0.2.7".parse().unwrap())), HeaderValue::from_static("r1"))
    }

    /// P16: where a request came from is what the gateway saw, whatever the caller claims.
    #[test]
    fn claims_are_replaced() {
        let headers = sent(&[
            ("x-forwarded-for", "10.0.0.1"),
            ("x-forwarded-for", "10.0.0.2"),
            ("x-forwarded-proto", "https"),
            ("x-forwarded-host", "evil"),
            ("forwarded", "for=10.0.0.1"),
            ("x-real-ip", "10.0.0.1"),
            ("muster-peer", "10.0.0.1"),
            ("muster-peer-proof", "x"),
            ("muster-hops", "1"),
            ("x-request-id", "bad id"),
            ("host", "gateway"),
            ("expect", "100-continue"),
            ("authorization", "Bearer a"),
        ]);
        let mut all: Vec<String> =
            headers.iter().map(|(name, value)| format!("{name}={}", value.to_str().unwrap())).collect();
        all.sort();
        let wanted = [
            "authorization=Bearer a",
            "x-forwarded-for=192.0.2.7",
            "x-forwarded-proto=http",
            "x-request-id=r1",
        ];
        assert_eq!(all, wanted);
    }

    /// P16: `Connection` cannot take away what the gateway says.
    #[test]
    fn connection_does_not_name_ours() {
        let headers =
            sent(&[("connection", "x-forwarded-for, x-request-id, authorization"), ("authorization", "x")]);
        assert_eq!(headers[FORWARDED_FOR], "192.0.2.7");
        assert_eq!(headers[REQUEST_ID], "r1");
        assert!(!headers.contains_key("authorization"));
    }

    /// I7: a page of the gateway's own origin is no foreign one; any other is the coordinator's to judge.
    #[test]
    fn the_own_origin_is_not_foreign() {
        let origin = |origin: &str| sent(&[("host", "gw:7401"), ("origin", origin)]).contains_key("origin");
        assert!(!origin("http://gw:7401"));
        for foreign in ["http://gw", "https://evil.example", "null"] {
            assert!(origin(foreign), "{foreign}");
        }
    }

    /// P16: what is meant for one connection does not travel on.
    #[test]
    fn hop_by_hop_headers_end_here() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Named"),
            ("connection", "x-other"),
            ("x-named", "1"),
            ("x-other", "1"),
            ("keep-alive", "timeout=5"),
            ("te", "trailers"),
            ("trailer", "x"),
            ("transfer-encoding", "chunked"),
            ("upgrade", "h2c"),
            ("proxy-authorization", "Basic x"),
            ("proxy-connection", "keep-alive"),
            ("accept", "*/*"),
        ] {
            headers.append(name, value.parse().unwrap());
        }
        strip(&mut headers);
        assert_eq!(headers.keys().map(HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);
    }
}
