//! Callers, as handlers extract them (I7).
//!
//! A handler says what it needs by what it extracts: [`Node`] (pull and callback), [`Operator`] (everything
//! else), [`Caller`] (the RPCs, open to both, which take the header `apikey` too); for simulation workers see
//! [`crate::Renderer`]. They come before the body in the argument list, so nobody's body is read before their token was.

use crate::{
    HttpState, Identity, Problem,
    bearer::{Bearer, bearer, bearer_or_apikey, bearer_or_mistaken, identify, worker_token},
    reason::{only_reads, reason},
};
use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use muster_coordinator::TokenHash;
use muster_model::{Actor, Name, Role};

/// Caller that presented a valid token.
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
    own: Option<TokenHash>,
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

    /// The actor, for the audit log, if it is somebody with a name.
    #[must_use]
    pub fn actor(&self) -> Option<Actor> {
        match self {
            Self::Node(_) => None,
            Self::Operator(operator) => Some(operator.actor()),
        }
    }
}

impl Operator {
    /// The actor, for the audit log.
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

    pub(crate) const fn own(secret: TokenHash) -> Self {
        Self { own: Some(secret) }
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

/// Caller that presented the enrolment secret.
#[derive(Clone, Copy, Debug)]
pub struct Enroller;

/// A simulation worker that showed its token.
#[derive(Clone, Debug)]
pub struct Renderer(pub Name);

/// A simulation worker or an operator, for what is open to both.
#[derive(Clone, Debug)]
pub enum RendererOrOperator {
    /// A worker.
    Renderer(Renderer),
    /// An operator.
    Operator(Operator),
}

impl RendererOrOperator {
    /// The actor, for the audit log, if it is somebody with a name.
    #[must_use]
    pub fn actor(&self) -> Option<Actor> {
        match self {
            Self::Renderer(_) => None,
            Self::Operator(operator) => Some(operator.actor()),
        }
    }
}

impl Renderer {
    /// Checks that a text names the caller itself.
    ///
    /// # Errors
    /// 403 when it names somebody else.
    pub fn speaks_for(&self, id: &str) -> Result<(), Problem> {
        if self.0.as_str() == id {
            return Ok(());
        }
        Err(Problem::forbidden("this token belongs to another worker"))
    }
}

impl FromRequestParts<HttpState> for Enroller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        match identify(http, bearer_or_mistaken(&parts.headers))? {
            Bearer::Enroller => Ok(Self),
            other => Err(other.refused("whoever has the enrolment secret")),
        }
    }
}

impl FromRequestParts<HttpState> for Renderer {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        match identify(http, worker_token(&parts.headers))? {
            Bearer::Renderer(name) => Ok(Self(name)),
            other => Err(other.refused("simulation workers")),
        }
    }
}

impl FromRequestParts<HttpState> for RendererOrOperator {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        match identify(http, worker_token(&parts.headers))? {
            Bearer::Renderer(name) => reason(parts).map(|_| Self::Renderer(Renderer(name))),
            Bearer::User(user) => Operator::allowed(user, parts).map(Self::Operator),
            other => Err(other.refused("simulation workers and operators")),
        }
    }
}

// Contract P's routes have their own words for refusals: `401 Invalid token`, `403 Insufficient role` (P2). Tokens that
// belong to no user (of nodes, of simulation workers, the enrolment secret) are no tokens there.

/// A user, whatever they may do.
#[derive(Clone, Debug)]
pub struct Anyone(pub Identity);

/// A user who may hand in jobs: CLIENT or ADMIN.
#[derive(Clone, Debug)]
pub struct Client(pub Identity);

/// A user who owns workers: WORKER_OWNER, which ADMIN does not imply.
#[derive(Clone, Debug)]
pub struct Owner(pub Identity);

/// A user with the role ADMIN.
#[derive(Clone, Debug)]
pub struct Admin(pub Identity);

impl Admin {
    /// The actor, for the audit log.
    #[must_use]
    pub fn actor(&self) -> Actor {
        self.0.actor()
    }
}

impl FromRequestParts<HttpState> for Anyone {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        user(parts, http)?.explained(parts).map(Self)
    }
}

impl FromRequestParts<HttpState> for Client {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        member(parts, http, Role::Client).map(Self)
    }
}

impl FromRequestParts<HttpState> for Owner {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        member(parts, http, Role::WorkerOwner).map(Self)
    }
}

impl FromRequestParts<HttpState> for Admin {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        member(parts, http, Role::Admin).map(Self)
    }
}

fn member(parts: &Parts, http: &HttpState, role: Role) -> Result<Identity, Problem> {
    let user = user(parts, http)?;
    if user.roles.allows(role) { user.explained(parts) } else { Err(Problem::insufficient_role()) }
}

fn user(parts: &Parts, http: &HttpState) -> Result<Identity, Problem> {
    match identify(http, bearer(&parts.headers)) {
        Ok(Bearer::User(identity)) => Ok(identity),
        // The server is starting: nobody can be told no yet.
        Err(problem) if problem.status() != StatusCode::UNAUTHORIZED => Err(problem),
        _ => Err(Problem::invalid_token()),
    }
}
