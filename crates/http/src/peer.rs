//! From which address a request came.

use crate::HttpState;
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, request::Parts},
};
use std::{convert::Infallible, net::IpAddr};

/// The address a request came from: the other end of the connection or, where that is a proxy of ours
/// (`server.trusted_proxies`), the caller it tells of. `None` where there is no connection, as in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub Option<IpAddr>);

impl Peer {
    /// Takes an address as the socket tells it; one and the same machine has one form, whichever family was listened on.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self(Some(address.to_canonical()))
    }

    /// Address of the caller behind a trusted proxy, else this address. The last entry of `X-Forwarded-For` is the one
    /// that the proxy itself wrote; those before it are whatever the caller sent.
    fn behind(self, headers: &HeaderMap, proxies: &[IpAddr]) -> Self {
        let is_proxy =
            self.0.is_some_and(|address| proxies.iter().any(|proxy| proxy.to_canonical() == address));
        let told = || headers.get_all(FORWARDED_FOR).iter().next_back()?.to_str().ok();
        let caller =
            is_proxy.then(told).flatten().and_then(|told| told.rsplit(',').next()?.trim().parse().ok());
        caller.map_or(self, Self::at)
    }
}

impl FromRequestParts<HttpState> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Infallible> {
        let peer = parts.extensions.get().copied().unwrap_or(Self(None));
        Ok(peer.behind(&parts.headers, &http.settings.trusted_proxies))
    }
}

const FORWARDED_FOR: &str = "x-forwarded-for";

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn seen(from: &str, forwarded: &[&str], proxies: &[&str]) -> IpAddr {
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(FORWARDED_FOR, value.parse().unwrap());
        }
        let proxies: Vec<_> = proxies.iter().map(|proxy| address(proxy)).collect();
        Peer::at(address(from)).behind(&headers, &proxies).0.unwrap()
    }

    #[test]
    fn a_mapped_address_is_the_plain_one() {
        assert_eq!(Peer::at(address("::ffff:10.0.0.7")), Peer::at(address("10.0.0.7")));
    }

    /// P1: whom a proxy of ours tells of is believed, and only what the proxy itself wrote; anybody else is who they are.
    #[test]
    fn only_a_proxy_of_ours_is_believed() {
        let ours = ["10.0.0.1"];
        assert_eq!(seen("10.0.0.1", &["6.6.6.6, 1.2.3.4"], &ours), address("1.2.3.4"));
        assert_eq!(seen("10.0.0.1", &["6.6.6.6", "::ffff:1.2.3.4"], &ours), address("1.2.3.4"));
        assert_eq!(seen("::ffff:10.0.0.1", &["2001:db8::1"], &["::ffff:10.0.0.1"]), address("2001:db8::1"));
        assert_eq!(seen("10.0.0.2", &["1.2.3.4"], &ours), address("10.0.0.2"));
        assert_eq!(seen("10.0.0.1", &["1.2.3.4"], &[]), address("10.0.0.1"));
        for nonsense in ["", "unknown", "1.2.3.4,", "1.2.3.4:80"] {
            assert_eq!(seen("10.0.0.1", &[nonsense], &ours), address("10.0.0.1"), "{nonsense}");
        }
    }
}
