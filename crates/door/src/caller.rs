//! Who is calling, and which doors that opens (I7).
//!
//! A handler says what it needs by what it extracts: [`Node`] (pull and callback), [`Operator`] (everything
//! else), [`Caller`] (the RPCs, open to both, which take the header `apikey` too). They come before the body in
//! the argument list, so nobody's body is read before their token was.

use crate::{Door, Problem};
use axum::{
    extract::FromRequestParts,
    http::{HeaderMap, header, request::Parts},
};
use muster_model::Name;
use std::sync::Arc;

/// Somebody who showed a valid token.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A node, by the shared secret or its own.
    Node(Node),
    /// An operator.
    Operator,
}

/// A node that showed a valid secret.
#[derive(Clone)]
pub struct Node {
    own: Option<Arc<str>>,
}

/// An operator who showed a valid token.
#[derive(Clone, Copy, Debug)]
pub struct Operator;

impl Caller {
    /// Checks that the caller may speak as that worker; see [`Node::speaks_for`]. An operator may.
    ///
    /// # Errors
    /// 403 when not.
    pub fn speaks_for(&self, door: &Door, worker: &Name) -> Result<(), Problem> {
        match self {
            Self::Node(node) => node.speaks_for(door, worker),
            Self::Operator => Ok(()),
        }
    }
}

impl Node {
    /// Checks that the caller may speak as that worker: the shared secret may for all, a worker's own secret for
    /// that worker only.
    ///
    /// # Errors
    /// 403 when not.
    pub fn speaks_for(&self, door: &Door, worker: &Name) -> Result<(), Problem> {
        match &self.own {
            Some(secret) if !door.coordinator.knows_secret(Some(worker), secret) => {
                Err(Problem::forbidden("this secret belongs to another node"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) const fn shared() -> Self {
        Self { own: None }
    }

    pub(crate) fn own(secret: &str) -> Self {
        Self { own: Some(Arc::from(secret)) }
    }
}

impl std::fmt::Debug for Node {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.own.is_some() { "Node(own)" } else { "Node(shared)" })
    }
}

impl FromRequestParts<Door> for Node {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        match identify(door, bearer(&parts.headers))? {
            Caller::Node(node) => Ok(node),
            Caller::Operator => {
                Err(Problem::forbidden("this is for nodes; an operator's token does not open it"))
            }
        }
    }
}

impl FromRequestParts<Door> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        match identify(door, bearer(&parts.headers))? {
            Caller::Operator => Ok(Self),
            Caller::Node(_) => {
                Err(Problem::forbidden("this is for operators; a node's secret does not open it"))
            }
        }
    }
}

impl FromRequestParts<Door> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        identify(door, bearer_or_apikey(&parts.headers))
    }
}

fn identify(door: &Door, token: Option<&str>) -> Result<Caller, Problem> {
    let is_own = |token: &str| door.coordinator.knows_secret(None, token);
    // Asked first, so that a secret loaded meanwhile is not missed.
    let is_ready = door.coordinator.is_ready();
    match token.and_then(|token| door.keys.judge(token, is_own)) {
        Some(caller) => Ok(caller),
        // The secrets of single nodes are known only once the store is loaded; until then nobody can be told no.
        None if token.is_some() && !is_ready => Err(Problem::busy("the server is starting")),
        None => Err(Problem::unauthorized()),
    }
}

/// PostgREST's clients send `apikey`, mostly beside a bearer token; where both are given the latter counts.
fn bearer_or_apikey(headers: &HeaderMap) -> Option<&str> {
    if headers.contains_key(header::AUTHORIZATION) { bearer(headers) } else { only(headers, "apikey") }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = only(headers, header::AUTHORIZATION.as_str())?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// The header's value, unless it stands there twice: which one a proxy before us looked at is unknown.
fn only<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    (values.next().is_none() && !value.is_empty()).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    /// I7, N3: a token is taken from one bearer header; a repeated one counts as none.
    #[test]
    fn a_token_is_given_once() {
        assert_eq!(bearer(&headers(&[("authorization", "Bearer abc")])), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "bearer abc")])), Some("abc"));
        assert_eq!(bearer(&headers(&[("authorization", "Basic abc")])), None);
        assert_eq!(bearer(&headers(&[("authorization", "abc")])), None);
        assert_eq!(bearer(&headers(&[("authorization", "Bearer a"), ("authorization", "Bearer a")])), None);
        assert_eq!(bearer(&headers(&[("apikey", "abc")])), None);
    }

    /// Q14: the RPCs take `apikey` too.
    #[test]
    fn the_rpcs_take_apikey() {
        assert_eq!(bearer_or_apikey(&headers(&[("apikey", "abc")])), Some("abc"));
        assert_eq!(
            bearer_or_apikey(&headers(&[("apikey", "abc"), ("authorization", "Bearer x")])),
            Some("x")
        );
        assert_eq!(bearer_or_apikey(&headers(&[("apikey", "a"), ("apikey", "a")])), None);
        assert_eq!(bearer_or_apikey(&headers(&[])), None);
    }
}
