//! Workers: registration, lists, heartbeats; and changes to one: its key, draining, bans (P3, P4, P5, P14, I7).

use super::{
    ask,
    query::{PageQuery, Query},
    refuse,
};
use axum::{Json, extract::State, http::StatusCode};
use muster_contract_pool::{
    HeartbeatRequest, KeyRequest, Moment, ReasonRequest, RegisterRequest, Registered, Seen, Worker,
    WorkerList, read_worker_id,
};
use muster_http::{Admin, BodyBytes, HttpState, Operator, Owner, Params, PathText, Problem};
use muster_model::{Actor, Ask, PoolWorkerRecord, UserId, ask::pool};
use muster_store::{Cursor, Page, Reader, StoreError};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(register))
        .routes(routes!(list))
        .routes(routes!(list_all))
        .routes(routes!(heartbeat))
        .routes(routes!(set_key))
        .routes(routes!(drain))
        .routes(routes!(resume))
        .routes(routes!(ban))
        .routes(routes!(unban))
}

/// Registers a worker of the caller's.
#[utoipa::path(
    post, path = "/workers/register", operation_id = "pool_register_worker", tag = "pool workers",
    security(("user" = [])),
    request_body = RegisterRequest,
    responses(
        (status = 201, description = "The worker is registered", body = Registered),
        (status = 409, description = "Worker name already exists"),
    )
)]
async fn register(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    BodyBytes(body): BodyBytes,
) -> Result<(StatusCode, Json<Registered>), Problem> {
    let registration = RegisterRequest::parse(&body, owner.id)?;
    let worker = ask(&http, None, registration).await?;
    Ok((StatusCode::CREATED, Json(Registered::of(*worker))))
}

/// Lists the caller's workers.
#[utoipa::path(
    get, path = "/workers", operation_id = "pool_list_workers", tag = "pool workers",
    security(("user" = [])),
    params(
        ("limit" = Option<i64>, Query, description = "At most so many; all without it", minimum = 1, maximum = 1000),
        ("after" = Option<String>, Query, description = "What the page before gave as next"),
    ),
    responses(
        (status = 200, description = "The caller's own workers", body = WorkerList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<WorkerList>, Problem> {
    let PageQuery { after, limit } = Query::of(&params, &["limit", "after"])?.page()?;
    let read = move |reader: &dyn Reader| match limit {
        Some(limit) => reader.pool_workers(Some(owner.id), &Cursor { after, limit }),
        None => all_workers(reader, owner.id, after),
    };
    let page = http.coordinator.read(read).await.map_err(refuse)?;
    let workers = page.items.into_iter().map(|worker| show(&http, worker)).collect();
    Ok(Json(WorkerList { workers, next: page.next }))
}

/// Lists all workers of the pool, by id.
#[utoipa::path(
    get, path = "/api/pool/workers", operation_id = "list_pool_workers", tag = "pool workers",
    security(("operator" = [])),
    params(
        ("limit" = Option<i64>, Query, description = "At most so many; 100 without it", minimum = 1, maximum = 1000),
        ("after" = Option<String>, Query, description = "What the page before gave as next"),
    ),
    responses(
        (status = 200, description = "A page of workers", body = WorkerList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list_all(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<WorkerList>, Problem> {
    let page = Query::of(&params, &["limit", "after"])?.cursor()?;
    let page = http.coordinator.read(move |reader| reader.pool_workers(None, &page)).await.map_err(refuse)?;
    let workers = page.items.into_iter().map(|worker| show(&http, worker)).collect();
    Ok(Json(WorkerList { workers, next: page.next }))
}

/// Takes a worker's sign of life.
#[utoipa::path(
    post, path = "/workers/heartbeat", operation_id = "pool_heartbeat", tag = "pool workers",
    security(("user" = [])),
    request_body = HeartbeatRequest,
    responses(
        (status = 200, description = "The worker is online, unless it is banned", body = Seen),
        (status = 404, description = "Worker not found"),
    )
)]
async fn heartbeat(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    BodyBytes(body): BodyBytes,
) -> Result<Json<Seen>, Problem> {
    let worker = HeartbeatRequest::parse(&body)?;
    let at = http.coordinator.beat_pool(worker, owner.id).await.map_err(refuse)?;
    Ok(Json(Seen { worker_id: worker.0, last_seen_at: Moment(at) }))
}

/// Shows a worker with its last sign of life in memory.
fn show(http: &HttpState, worker: PoolWorkerRecord) -> Worker {
    let member = http.coordinator.pool().worker(worker.id);
    Worker::of(worker, member.and_then(|member| member.last_seen()))
}

fn all_workers(
    reader: &dyn Reader,
    owner: UserId,
    after: Option<String>,
) -> Result<Page<PoolWorkerRecord>, StoreError> {
    let mut page = Cursor { after, limit: 1000 };
    let mut all = Page { items: Vec::new(), next: None };
    loop {
        let Page { items, next } = reader.pool_workers(Some(owner), &page)?;
        all.items.extend(items);
        match next {
            Some(next) => page.after = Some(next),
            None => return Ok(all),
        }
    }
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
    let worker = read_worker_id(&id)?;
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
    let worker = read_worker_id(&id)?;
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
    let worker = read_worker_id(&id)?;
    change(&http, Some(admin.actor()), pool::Unban { worker, reason }).await
}

async fn set_draining(
    http: &HttpState,
    id: &str,
    owner: UserId,
    draining: bool,
) -> Result<Json<Worker>, Problem> {
    let worker = read_worker_id(id)?;
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
