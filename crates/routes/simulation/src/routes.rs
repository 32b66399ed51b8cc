//! The routes of contract S, one file per noun.

mod chunks;
mod complete;
mod fleet;
mod session_detail;
mod sessions;
mod status;
mod workers;

use crate::{
    checkpoint,
    simulation::{Simulation, Trouble},
};
use axum::{Extension, extract::FromRequestParts, http::request::Parts};
use muster_contract_simulation::{for_operator, phrase};
use muster_coordinator::{Coordinator, Refusal};
use muster_http::{HttpState, Operator, Params, PathText, Problem, Renderer};
use muster_model::{Ask, Name, SessionId};
use muster_store::{Cursor, Page, Reader, StoreError};
use serde_json::Value;
use utoipa_axum::router::OpenApiRouter;

/// The routes of contract S. What they count is shown by the HTTP layer.
#[must_use]
pub fn routes(http: &HttpState, simulation: Simulation) -> OpenApiRouter<HttpState> {
    status::count(http);
    OpenApiRouter::default()
        .merge(workers::routes())
        .merge(complete::routes())
        .merge(fleet::routes())
        .merge(status::routes())
        .merge(chunks::routes())
        .merge(sessions::routes())
        .merge(session_detail::routes())
        .merge(checkpoint::routes())
        .layer(Extension(simulation))
}

/// Has a worker's request decided.
async fn ask<A: Ask>(coordinator: &Coordinator, request: A) -> Result<A::Reply, Problem> {
    coordinator.ask(request).await.map_err(refuse)
}

/// Has an operator's request decided.
async fn order<A: Ask>(http: &HttpState, operator: &Operator, request: A) -> Result<A::Reply, Problem> {
    http.ask(operator.actor(), request).await.map_err(refuse)
}

/// Has an operator's request about a worker decided.
async fn operate<A: Ask>(http: &HttpState, operator: &Operator, request: A) -> Result<A::Reply, Problem> {
    order(http, operator, request).await.map_err(for_operator)
}

/// Puts the coordinator's refusal into this contract's words.
pub(crate) fn refuse(refusal: Refusal) -> Problem {
    muster_http::problem_of_refusal(refusal, |rejection| phrase(&rejection))
}

/// Puts what stood in the way into words; `field` is to blame where the caller can mend it.
fn trouble(trouble: Trouble, field: &str) -> Problem {
    match trouble {
        Trouble::Refused(refusal) => refuse(refusal),
        Trouble::Output(error) if error.is_callers() => {
            Problem::unprocessable(field, &format!("cannot be used: {error}"))
        }
        Trouble::Output(error) => {
            tracing::error!(%error, "the output root does not do as it should");
            Problem::busy("the output cannot be read or written at the moment; the server's log says why")
        }
    }
}

/// Reads a page of a list: `after` and `limit` tell which.
async fn page<T: Send + 'static>(
    http: &HttpState,
    params: &Params,
    read: impl FnOnce(&dyn Reader, &Cursor) -> Result<Page<T>, StoreError> + Send + 'static,
) -> Result<Page<T>, Problem> {
    let cursor = params.cursor()?;
    http.coordinator.read(move |store| read(store, &cursor)).await.map_err(refuse)
}

/// The problem of something that is not there.
fn missing(what: &str) -> Problem {
    Problem::not_found(format!("there is no such {what}"))
}

/// Checks that a body that names a worker names the caller.
fn check_claim(caller: &Renderer, body: &Value) -> Result<(), Problem> {
    match body.get("workerId") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(id)) => caller.speaks_for(id),
        Some(_) => Err(Problem::unprocessable("workerId", "must be a string")),
    }
}

/// A worker that calls at a path of its own: `/api/v1/workers/{id}/…`.
struct OwnPath(Name);

impl FromRequestParts<HttpState> for OwnPath {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let caller = Renderer::from_request_parts(parts, http).await?;
        let PathText(id) = PathText::from_request_parts(parts, http).await?;
        caller.speaks_for(&id)?;
        Ok(Self(caller.0))
    }
}

/// A session's id out of a path; what can be none names nothing.
fn session_id(text: &str) -> Result<SessionId, Problem> {
    SessionId::new(text).map_err(|_| missing("session"))
}

/// A worker's name out of a path.
fn worker_name(text: &str) -> Result<Name, Problem> {
    Name::new(text).map_err(|_| missing("worker"))
}
