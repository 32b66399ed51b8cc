//! The routes of contract Q, one file per noun.

mod alerts;
mod devices;
mod explain;
mod listed;
mod nodes;
mod pcs;
mod remains;
mod retries;
mod rpc;
mod runs;
mod schedules;
mod task_devices;

use muster_contract_operations::{JsonText, phrase};
use muster_coordinator::Refusal;
use muster_http::{HttpState, Problem};
use muster_model::JobId;
use utoipa_axum::router::OpenApiRouter;

/// The routes of contract Q.
#[must_use]
pub fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .merge(runs::routes())
        .merge(retries::routes())
        .merge(schedules::routes())
        .merge(task_devices::routes())
        .merge(remains::routes())
        .merge(devices::routes())
        .merge(pcs::routes())
        .merge(nodes::routes())
        .merge(alerts::routes())
        .merge(explain::routes())
        .merge(rpc::routes())
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
async fn config(http: &HttpState, job: JobId) -> Result<JsonText, Problem> {
    let payload = http.coordinator.payload(job).await.map_err(refuse)?;
    JsonText::new(&payload.params).map_err(damaged)
}

#[cfg(test)]
#[path = "routes_tests.rs"]
mod tests;
