//! Changes to a worker: its key, draining, bans (P3, P14).

use super::{ask, refuse, worker_id, workers::show};
use axum::{Json, extract::State};
use muster_contract_pool::{KeyRequest, ReasonRequest, Worker};
use muster_http::{Admin, BodyBytes, HttpState, Owner, PathText, Problem};
use muster_model::{Actor, Ask, PoolWorkerRecord, UserId, ask::pool};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(set_key))
        .routes(routes!(drain))
        .routes(routes!(resume))
        .routes(routes!(ban))
        .routes(routes!(unban))
}

/// Gives a worker another key; results signed with the one before are refused from now on.
#[utoipa::path(
    put, path = "/workers/{id}/key", operation_id = "pool_set_worker_key", tag = "pool workers",
    security(("user" = [])),
    params(("id" = String, Path, description = "The worker")),
    request_body = KeyRequest,
    responses(
        (status = 200, description = "The worker with its new key", body = Worker),
        (status = 404, description = "Worker not found"),
    )
)]
async fn set_key(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    PathText(id): PathText,
    BodyBytes(body): BodyBytes,
) -> Result<Json<Worker>, Problem> {
    let KeyRequest { public_key } = KeyRequest::parse(&body)?;
    let worker = worker_id(&id)?;
    change(&http, None, pool::SetKey { worker, owner: owner.id, public_key }).await
}

/// Gives a worker no more work; what it has it may finish.
#[utoipa::path(
    post, path = "/workers/{id}/drain", operation_id = "pool_drain_worker", tag = "pool workers",
    security(("user" = [])),
    params(("id" = String, Path, description = "The worker")),
    responses(
        (status = 200, description = "The worker, draining", body = Worker),
        (status = 404, description = "Worker not found"),
    )
)]
async fn drain(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<Worker>, Problem> {
    set_draining(&http, &id, owner.id, true).await
}

/// Gives a worker work again.
#[utoipa::path(
    post, path = "/workers/{id}/resume", operation_id = "pool_resume_worker", tag = "pool workers",
    security(("user" = [])),
    params(("id" = String, Path, description = "The worker")),
    responses(
        (status = 200, description = "The worker, no longer draining", body = Worker),
        (status = 404, description = "Worker not found"),
    )
)]
async fn resume(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<Worker>, Problem> {
    set_draining(&http, &id, owner.id, false).await
}

/// Shuts a worker out: its assignments are taken back.
#[utoipa::path(
    post, path = "/workers/{id}/ban", operation_id = "pool_ban_worker", tag = "pool workers",
    security(("user" = [])),
    params(("id" = String, Path, description = "The worker, whosever it is")),
    request_body = ReasonRequest,
    responses(
        (status = 200, description = "The worker, banned", body = Worker),
        (status = 404, description = "Worker not found"),
    )
)]
async fn ban(
    admin: Admin,
    State(http): State<HttpState>,
    PathText(id): PathText,
    BodyBytes(body): BodyBytes,
) -> Result<Json<Worker>, Problem> {
    let ReasonRequest { reason } = ReasonRequest::parse(&body)?;
    let worker = worker_id(&id)?;
    change(&http, Some(admin.actor()), pool::Ban { worker, reason }).await
}

/// Lets a worker in again and forgives its dissents.
#[utoipa::path(
    post, path = "/workers/{id}/unban", operation_id = "pool_unban_worker", tag = "pool workers",
    security(("user" = [])),
    params(("id" = String, Path, description = "The worker, whosever it is")),
    request_body = ReasonRequest,
    responses(
        (status = 200, description = "The worker, no longer banned", body = Worker),
        (status = 404, description = "Worker not found"),
    )
)]
async fn unban(
    admin: Admin,
    State(http): State<HttpState>,
    PathText(id): PathText,
    BodyBytes(body): BodyBytes,
) -> Result<Json<Worker>, Problem> {
    let ReasonRequest { reason } = ReasonRequest::parse(&body)?;
    let worker = worker_id(&id)?;
    change(&http, Some(admin.actor()), pool::Unban { worker, reason }).await
}

async fn set_draining(
    http: &HttpState,
    id: &str,
    owner: UserId,
    draining: bool,
) -> Result<Json<Worker>, Problem> {
    let worker = worker_id(id)?;
    change(http, None, pool::Drain { worker, owner: Some(owner), draining }).await
}

/// Changes a worker and shows it.
async fn change(
    http: &HttpState,
    actor: Option<Actor>,
    request: impl Ask<Reply = Box<PoolWorkerRecord>>,
) -> Result<Json<Worker>, Problem> {
    let worker = ask(http, actor, request).await?;
    // The engine does not keep the texts that only people read.
    let id = worker.id;
    let stored = http.coordinator.read(move |reader| reader.pool_worker(id)).await.map_err(refuse)?;
    Ok(Json(show(http, stored.unwrap_or(*worker))))
}
