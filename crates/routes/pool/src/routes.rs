//! The routes of contract P, one file per noun.

mod jobs;
mod query;
mod work;
mod workers;

use crate::{bodies::LargeRoom, counts};
use axum::Extension;
use muster_contract_pool::refusal::{CONCURRENT_SUBMISSION, WORKER_NOT_FOUND, problem_of};
use muster_coordinator::Refusal;
use muster_http::{HttpState, Problem};
use muster_model::{Actor, Ask, PoolWorkerId, UserId};
use utoipa_axum::router::OpenApiRouter;

/// The routes of contract P, but for those of accounts. What they count is shown by the HTTP layer.
#[must_use]
pub fn routes(http: &HttpState) -> OpenApiRouter<HttpState> {
    counts::register(http);
    OpenApiRouter::default()
        .merge(workers::routes())
        .merge(work::routes())
        .merge(jobs::routes())
        .layer(Extension(LargeRoom::new()))
}

/// Has a request decided; an `actor` makes it an entry of the audit log (I7).
async fn ask<A: Ask>(http: &HttpState, actor: Option<Actor>, request: A) -> Result<A::Reply, Problem> {
    http.ask(actor, request).await.map_err(refuse)
}

/// Puts the coordinator's refusal into this contract's words.
pub(crate) fn refuse(refusal: Refusal) -> Problem {
    muster_http::problem_of_refusal(refusal, |rejection| problem_of(&rejection))
}

/// Refuses a result while no term runs: nothing will be decided about it, so that is not a conflict (P8).
fn ready(http: &HttpState) -> Result<(), Problem> {
    if http.coordinator.is_ready() { Ok(()) } else { Err(Problem::busy("the server is starting")) }
}

/// As [`refuse`], for results: if the term ended during the commit, nobody knows whether it took place (P8).
fn refuse_result(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::Unavailable => CONCURRENT_SUBMISSION.into(),
        other => refuse(other),
    }
}

/// The key of one of the caller's workers, as it was registered; a missing worker and another owner's get the same refusal (P5, P8).
async fn key_of(http: &HttpState, worker: PoolWorkerId, owner: UserId) -> Result<Option<Box<str>>, Problem> {
    let found = match http.coordinator.pool().worker(worker) {
        Some(member) => Some((member.owner, member.public_key.clone())),
        // While a term begins memory knows nobody, and a worker that is told so in vain stops for good.
        None => {
            let stored = http.coordinator.read(move |reader| reader.pool_worker(worker)).await;
            stored.map_err(refuse)?.map(|record| (record.owner, record.public_key))
        }
    };
    let own = found.filter(|(known, _)| *known == owner);
    own.map(|(_, public_key)| public_key).ok_or_else(|| WORKER_NOT_FOUND.into())
}
