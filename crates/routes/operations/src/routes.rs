//! The routes of contract Q, one file per noun.

mod explain;
mod fleet;
mod retries;
mod rows;
mod rpc;
mod runs;
mod schedules;

use axum::{extract::FromRequestParts, http::request::Parts};
use muster_contract_operations::{JsonText, phrase};
use muster_coordinator::{Coordinator, Refusal};
use muster_http::{HttpState, Operator, Problem};
use muster_model::{Actor, Ask, JobId};
use muster_store::{Reader, StoreError};
use utoipa_axum::router::OpenApiRouter;

/// The routes of contract Q.
#[must_use]
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .merge(runs::routes())
        .merge(retries::routes())
        .merge(schedules::routes())
        .merge(rows::routes())
        .merge(fleet::routes())
        .merge(explain::routes())
        .merge(rpc::routes())
}

/// A call of an operator. What is refused is told in this contract's words.
struct OperatorCall {
    coordinator: Coordinator,
    actor: Actor,
}

impl FromRequestParts<HttpState> for OperatorCall {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let actor = Operator::from_request_parts(parts, http).await?.actor();
        Ok(Self { coordinator: http.coordinator.clone(), actor })
    }
}

impl OperatorCall {
    /// Reads one state of the store.
    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&dyn Reader) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.coordinator.read(look).await.map_err(refuse)
    }

    /// Reads something of the store; 404 where there is no such `what`.
    async fn find<T: Send + 'static>(
        &self,
        what: &str,
        look: impl FnOnce(&dyn Reader) -> Result<Option<T>, StoreError> + Send + 'static,
    ) -> Result<T, Problem> {
        self.read(look).await?.ok_or_else(|| Problem::not_found(format!("there is no such {what}")))
    }

    /// Has a request decided, as an entry of the audit log (I7).
    async fn ask<A: Ask>(&self, request: A) -> Result<A::Reply, Problem> {
        self.coordinator.ask_as(&self.actor, request).await.map_err(refuse)
    }
}

/// Puts the coordinator's refusal into this contract's words.
fn refuse(refusal: Refusal) -> Problem {
    muster_http::problem_of_refusal(refusal, |rejection| phrase(&rejection))
}

/// A text of the store that is not JSON: a damaged store.
fn damaged(error: serde_json::Error) -> Problem {
    Problem::internal(&error)
}

/// A run without what was submitted: a damaged store.
fn damaged_run() -> Problem {
    Problem::internal(&"a run has no payload")
}

/// The parameters of a run, which its rows show as `config`.
async fn config(coordinator: &Coordinator, job: JobId) -> Result<JsonText, Problem> {
    let payload = coordinator.payload(job).await.map_err(refuse)?;
    JsonText::new(&payload.params).map_err(damaged)
}
