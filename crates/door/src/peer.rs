//! From which address a request came.

use axum::{extract::FromRequestParts, http::request::Parts};
use std::{convert::Infallible, net::IpAddr};

/// The address at the other end of the connection: the caller's, or that of a proxy before us. `None` where there is no
/// connection, as in tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer(pub Option<IpAddr>);

impl Peer {
    /// Takes an address as the socket tells it; one and the same machine has one form, whichever family was listened on.
    #[must_use]
    pub fn at(address: IpAddr) -> Self {
        Self(Some(address.to_canonical()))
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Peer {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().copied().unwrap_or(Self(None)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapped_address_is_the_plain_one() {
        assert_eq!(Peer::at("::ffff:10.0.0.7".parse().unwrap()), Peer::at("10.0.0.7".parse().unwrap()));
    }
}
