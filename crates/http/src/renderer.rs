//! Who calls as a simulation worker, or to become one (S1).

use crate::{
    HttpState, Operator, Problem,
    bearer::{Bearer, bearer_or_mistaken, identify, worker_token},
    reason::reason,
};
use axum::{extract::FromRequestParts, http::request::Parts};
use muster_model::{Actor, Name};

/// Somebody who showed the enrolment secret.
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
    /// Who acts, for the audit log, if it is somebody with a name.
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
