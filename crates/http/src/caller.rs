//! Who is calling, and which doors that opens (I7).
//!
//! A handler says what it needs by what it extracts: [`Node`] (pull and callback), [`Operator`] (everything
//! else), [`Caller`] (the RPCs, open to both, which take the header `apikey` too); for simulation workers see
//! [`crate::Renderer`]. They come before the body in the argument list, so nobody's body is read before their token was.

use crate::{
    HttpState, Identity, Problem,
    bearer::{Bearer, bearer, bearer_or_apikey, bearer_or_mistaken, identify},
    reason::{only_reads, reason},
};
use axum::{extract::FromRequestParts, http::request::Parts};
use muster_model::{Actor, Name, Role};
use std::sync::Arc;

/// Somebody who showed a valid token.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A node, by the shared secret or its own.
    Node(Node),
    /// An operator.
    Operator(Operator),
}

/// A node that showed a valid secret.
#[derive(Clone)]
pub struct Node {
    own: Option<Arc<str>>,
}

/// A user who showed a valid token and may do this: a VIEWER what only reads, an OPERATOR everything (I7).
#[derive(Clone, Debug)]
pub struct Operator(Identity);

impl Caller {
    /// Checks that the caller may speak as that worker; see [`Node::speaks_for`]. An operator may.
    ///
    /// # Errors
    /// 403 when not.
    pub fn speaks_for(&self, http: &HttpState, worker: &Name) -> Result<(), Problem> {
        match self {
            Self::Node(node) => node.speaks_for(http, worker),
            Self::Operator(_) => Ok(()),
        }
    }

    /// Who acts, for the audit log, if it is somebody with a name.
    #[must_use]
    pub fn actor(&self) -> Option<Actor> {
        match self {
            Self::Node(_) => None,
            Self::Operator(operator) => Some(operator.actor()),
        }
    }
}

impl Operator {
    /// Who acts, for the audit log.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.0.actor()
    }

    /// Checks that they may do what this role may, for routes that show more than a VIEWER should see.
    ///
    /// # Errors
    /// 403 when not.
    pub fn demand(&self, role: Role) -> Result<(), Problem> {
        if self.0.roles.allows(role) {
            return Ok(());
        }
        Err(Problem::forbidden(format!("this needs the role {}", role.as_str())))
    }

    /// Checks that a user may do what a request with that method does.
    pub(crate) fn allowed(user: Identity, parts: &Parts) -> Result<Self, Problem> {
        let operator = Self(user);
        operator.demand(if only_reads(&parts.method) { Role::Viewer } else { Role::Operator })?;
        operator.0.explained(parts).map(Self)
    }
}

impl Node {
    /// Checks that the caller may speak as that worker: the shared secret may for all, a worker's own secret for
    /// that worker only.
    ///
    /// # Errors
    /// 403 when not.
    pub fn speaks_for(&self, http: &HttpState, worker: &Name) -> Result<(), Problem> {
        match &self.own {
            Some(secret) if !http.coordinator.knows_secret(Some(worker), secret) => {
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

impl FromRequestParts<HttpState> for Node {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        match identify(http, bearer(&parts.headers))? {
            Bearer::Node(node) => Ok(node),
            other => Err(other.refused("nodes")),
        }
    }
}

impl FromRequestParts<HttpState> for Operator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        match identify(http, bearer_or_mistaken(&parts.headers))? {
            Bearer::User(user) if bearer(&parts.headers).is_some() => Self::allowed(user, parts),
            Bearer::User(_) => Err(Problem::unauthorized()),
            other => Err(other.refused("operators")),
        }
    }
}

impl FromRequestParts<HttpState> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        match identify(http, bearer_or_apikey(&parts.headers))? {
            Bearer::Node(node) => reason(parts).map(|_| Self::Node(node)),
            Bearer::User(user) => Operator::allowed(user, parts).map(Self::Operator),
            other => Err(other.refused("nodes and operators")),
        }
    }
}
