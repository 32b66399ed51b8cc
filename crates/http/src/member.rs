//! Who calls on contract P's routes, in its words: `401 Invalid token`, `403 Insufficient role` (P2).
//!
//! Tokens that belong to no user (of nodes, of simulation workers, the enrolment secret) are no tokens here.

use crate::{
    HttpState, Identity, Problem,
    bearer::{Bearer, bearer, identify},
};
use axum::{
    extract::FromRequestParts,
    http::{StatusCode, request::Parts},
};
use muster_model::{Actor, Role};

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
    /// Who acts, for the audit log.
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
