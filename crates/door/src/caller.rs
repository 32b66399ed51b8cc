//! Who is calling, and which doors that opens (I7).
//!
//! A handler says what it needs by what it extracts: [`Node`] (pull and callback), [`Operator`] (everything
//! else), [`Caller`] (the RPCs, open to both, which take the header `apikey` too); for simulation workers see
//! [`crate::Renderer`]. They come before the body in the argument list, so nobody's body is read before their token was.

use crate::{
    Door, Problem,
    bearer::{Bearer, bearer, bearer_or_apikey, bearer_or_mistaken, identify},
};
use axum::{extract::FromRequestParts, http::request::Parts};
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
            Bearer::Node(node) => Ok(node),
            other => Err(other.refused("nodes")),
        }
    }
}

impl FromRequestParts<Door> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        match identify(door, bearer_or_mistaken(&parts.headers))? {
            Bearer::Operator if bearer(&parts.headers).is_some() => Ok(Self),
            Bearer::Operator => Err(Problem::unauthorized()),
            other => Err(other.refused("operators")),
        }
    }
}

impl FromRequestParts<Door> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        match identify(door, bearer_or_apikey(&parts.headers))? {
            Bearer::Node(node) => Ok(Self::Node(node)),
            Bearer::Operator => Ok(Self::Operator),
            other => Err(other.refused("nodes and operators")),
        }
    }
}
