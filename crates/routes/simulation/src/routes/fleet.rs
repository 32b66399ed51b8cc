//! The catalogue of workers, and what operators do to them (S6, S9, S11).

use super::{missing, operate, order, page, refuse, worker_name};
use axum::{Json, extract::State};
use muster_contract_simulation::{
    AssignRequest, AssignResponse, BroadcastRequest, BroadcastResponse, ReasonRequest, Worker, WorkerDetail,
    WorkerList, read_assignment, read_broadcast, read_reason,
};
use muster_http::{HttpState, JsonBody, Operator, Params, PathText, Problem};
use muster_model::{FrameQuery, FrameView, Name, RendererView, ask::frames};
use muster_store::Page;
use std::collections::HashMap;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(approve))
        .routes(routes!(quarantine))
        .routes(routes!(broadcast))
        .routes(routes!(assign))
}

/// Lists workers with their capabilities, by name.
#[utoipa::path(
    get, path = "/api/v1/workers", operation_id = "list_workers", tag = "simulation", security(("operator" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Workers per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of workers", body = WorkerList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<WorkerList>, Problem> {
    params.only(&["after", "limit"])?;
    let Page { items, next } = page(&http, &params, |store, page| store.renderers(page)).await?;
    let views = views(&http, items.iter().map(|record| record.id.clone()).collect()).await?;
    let views: HashMap<&Name, &RendererView> = views.iter().map(|view| (&view.id, view)).collect();
    let workers = items.iter().map(|record| Worker::new(record, views.get(&record.id).copied())).collect();
    Ok(Json(WorkerList { workers, next }))
}

/// Shows one worker with its changes of state.
#[utoipa::path(
    get, path = "/api/v1/workers/{id}", operation_id = "show_worker", tag = "simulation", security(("operator" = [])),
    params(("id" = String, Path, description = "The worker")),
    responses(
        (status = 200, description = "The worker", body = WorkerDetail),
        (status = 404, description = "There is no such worker"),
    )
)]
async fn show(
    _: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<WorkerDetail>, Problem> {
    detail(&http, worker_name(&id)?).await
}

/// Lets a worker out of quarantine.
#[utoipa::path(
    post, path = "/api/v1/workers/{id}/approve", operation_id = "approve_worker", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The worker")),
    request_body = ReasonRequest,
    responses(
        (status = 200, description = "The worker may register again", body = WorkerDetail),
        (status = 404, description = "There is no such worker"),
        (status = 409, description = "The worker is not in quarantine"),
    )
)]
async fn approve(
    operator: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<WorkerDetail>, Problem> {
    let (worker, reason) = (worker_name(&id)?, read_reason(&body)?);
    operate(&http, &operator, frames::Approve { worker: worker.clone(), reason }).await?;
    detail(&http, worker).await
}

/// Keeps a worker away from work until it is approved.
#[utoipa::path(
    post, path = "/api/v1/workers/{id}/quarantine", operation_id = "quarantine_worker", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The worker")),
    request_body = ReasonRequest,
    responses(
        (status = 200, description = "The worker is in quarantine", body = WorkerDetail),
        (status = 404, description = "There is no such worker"),
        (status = 409, description = "The worker was removed"),
    )
)]
async fn quarantine(
    operator: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<WorkerDetail>, Problem> {
    let (worker, reason) = (worker_name(&id)?, read_reason(&body)?);
    operate(&http, &operator, frames::Quarantine { worker: worker.clone(), reason }).await?;
    detail(&http, worker).await
}

/// Has no task given out any more, or has tasks given out again.
#[utoipa::path(
    post, path = "/api/v1/workers/broadcast", operation_id = "broadcast", tag = "simulation",
    security(("operator" = [])),
    request_body = BroadcastRequest,
    responses((status = 200, description = "All workers are told; it outlives restarts", body = BroadcastResponse))
)]
async fn broadcast(
    operator: Operator,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<BroadcastResponse>, Problem> {
    let broadcast = read_broadcast(&body)?;
    order(&http, &operator, frames::Broadcast { pause: broadcast.paused }).await?;
    Ok(Json(broadcast))
}

/// Gives a waiting task to a worker, before the order of the queue.
#[utoipa::path(
    post, path = "/api/v1/tasks/assign", operation_id = "assign_task", tag = "simulation",
    security(("operator" = [])),
    request_body = AssignRequest,
    responses(
        (status = 200, description = "The worker gets it next", body = AssignResponse),
        (status = 404, description = "There is no such task or worker"),
        (status = 409, description = "The task does not wait, or the worker cannot take it"),
    )
)]
async fn assign(
    operator: Operator,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<AssignResponse>, Problem> {
    let request = read_assignment(&body)?;
    let assigned =
        AssignResponse { task_id: request.task.to_string(), worker_id: request.worker.to_string() };
    operate(&http, &operator, request).await?;
    Ok(Json(assigned))
}

async fn detail(http: &HttpState, worker: Name) -> Result<Json<WorkerDetail>, Problem> {
    let view = views(http, vec![worker.clone()]).await?;
    let found = http
        .coordinator
        .read(move |store| Ok((store.renderer(&worker)?, store.transitions(&worker, TRANSITIONS_MAX)?)));
    match found.await.map_err(refuse)? {
        (Some(record), transitions) => Ok(Json(WorkerDetail::new(&record, view.first(), transitions))),
        (None, _) => Err(missing("worker")),
    }
}

async fn views(http: &HttpState, workers: Vec<Name>) -> Result<Vec<RendererView>, Problem> {
    match http.coordinator.frames(FrameQuery::Renderers(workers)).await.map_err(refuse)? {
        FrameView::Renderers(views) => Ok(views),
        other => Err(Problem::internal(&format_args!("workers were shown as {other:?}"))),
    }
}

const TRANSITIONS_MAX: u32 = 100;
