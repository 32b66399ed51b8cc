//! Calls of workers: register, heartbeat, pull, progress, failure, further ids, rebind, leave (S1–S4, S5b, S6, S19).

use super::{OwnPath, ask, check_claim, operate, refuse, trouble, worker_name};
use crate::{
    effects::push::{Origin, check_endpoint},
    simulation::Simulation,
};
use axum::{
    Extension, Json,
    extract::{FromRequestParts, State},
    http::{Method, StatusCode, request::Parts},
};
use muster_contract_simulation::{
    Acknowledgement, FailRequest, HeartbeatRequest, HeartbeatResponse, IdChunk, IdRangeRequest,
    ProgressRequest, RebindRequest, ReceivedRebind, RegisterRequest, RegisterResponse, TaskResponse,
    WAIT_MS_MAX, WorkerState, phrase_pull, read_fail, read_heartbeat, read_id_request, read_progress,
    read_rebind, read_registration, wait_of,
};
use muster_coordinator::Refusal;
use muster_http::{
    Enroller, HttpState, JsonBody, JsonBytes, Params, PathText, Peer, Place, Problem, Renderer,
    RendererOrOperator,
};
use muster_model::{
    Ask, Beat, Name, RendererState,
    ask::frames::{Rebind, Remove},
};
use sha2::{Digest, Sha256};
use std::time::Duration;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(register))
        .routes(routes!(heartbeat))
        .routes(routes!(pull))
        .routes(routes!(progress))
        .routes(routes!(fail))
        .routes(routes!(more_ids))
        .routes(routes!(rebind))
        .routes(routes!(remove))
}

/// Enrols a worker and gives it a token.
///
/// Whoever registers again gets a new token; the one before opens nothing any more, and what was held with it is given
/// to others.
#[utoipa::path(
    post, path = "/api/v1/workers/register", operation_id = "register_worker", tag = "simulation workers",
    security(("enrolment" = [])),
    request_body = RegisterRequest,
    responses(
        (status = 201, description = "The worker is registered", body = RegisterResponse),
        (status = 403, description = "Another token than the enrolment secret, or the worker is in quarantine"),
    )
)]
async fn register(
    _: Enroller,
    Peer(peer): Peer,
    Extension(simulation): Extension<Simulation>,
    JsonBytes { bytes, value }: JsonBytes,
) -> Result<(StatusCode, Json<RegisterResponse>), Problem> {
    let origin = Origin { peer, allowed: &simulation.0.settings.endpoint_allow };
    let text = String::from_utf8_lossy(&bytes);
    let mut registration = read_registration(&value, &text, |endpoint| check_endpoint(endpoint, origin))?;
    let coordinator = &simulation.0.coordinator;
    let worker_token = coordinator.new_secret();
    registration.token_hash = Sha256::digest(worker_token.as_bytes()).into();
    let worker_id = registration.worker.to_string();
    let epoch = ask(coordinator, registration).await?.epoch;
    let interval = coordinator.settings().frames.heartbeat;
    Ok((StatusCode::CREATED, Json(RegisterResponse::new(worker_id, worker_token, interval, epoch))))
}

/// Takes a worker's sign of life and tells it what to do.
#[utoipa::path(
    post, path = "/api/v1/workers/{id}/heartbeat", operation_id = "worker_heartbeat", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    params(("id" = String, Path, description = "The worker, which must be the token's")),
    request_body = HeartbeatRequest,
    responses((status = 200, description = "Where the worker stands, and what it is to do", body = HeartbeatResponse))
)]
async fn heartbeat(
    OwnPath(worker): OwnPath,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<HeartbeatResponse>, Problem> {
    beat(&http, read_heartbeat(&body, worker)?).await
}

/// Gives a worker a task, or none for now.
///
/// A worker whose slots are full gets its oldest unconfirmed task again.
#[utoipa::path(
    get, path = "/api/v1/workers/{id}/tasks", operation_id = "pull_task", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    params(
        ("id" = String, Path, description = "The worker, which must be the token's"),
        ("wait_ms" = Option<u64>, Query, description = "How long to wait for work; at most 30000 count",
            minimum = 0, maximum = 9_007_199_254_740_991_i64),
    ),
    responses(
        (status = 200, description = "A task, or null", body = TaskResponse),
        (status = 410, description = "The worker was removed"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn pull(
    PullRequest { worker, wait, place: _held_until_the_response }: PullRequest,
    Extension(simulation): Extension<Simulation>,
) -> Result<Json<TaskResponse>, Problem> {
    let task = match simulation.0.coordinator.ask_for_frames(worker, wait).await {
        Ok(Some(handout)) => Some(simulation.offer(*handout).await.map_err(|error| trouble(error, ""))?),
        Ok(None) => None,
        Err(Refusal::Rejected(rejection)) => return phrase_pull(&rejection).map(Json),
        Err(other) => return Err(refuse(other)),
    };
    Ok(Json(TaskResponse { task, commands: Vec::new() }))
}

/// Takes a worker's report of how far it is.
#[utoipa::path(
    post, path = "/api/v1/workers/{id}/progress", operation_id = "worker_progress", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    params(("id" = String, Path, description = "The worker, which must be the token's")),
    request_body = ProgressRequest,
    responses(
        (status = 200, description = "Acknowledgement note of", body = Acknowledgement),
        (status = 404, description = "There is no such session or task"),
        (status = 409, description = "The worker does not hold that task, or it is not clear which"),
        (status = 410, description = "The worker was removed"),
    )
)]
async fn progress(
    OwnPath(worker): OwnPath,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<Acknowledgement>, Problem> {
    let progress = read_progress(&body, worker)?;
    ask(&http.coordinator, progress).await?;
    Ok(Json(Acknowledgement::OK))
}

/// Ends a worker's attempt; the range goes to another.
#[utoipa::path(
    post, path = "/api/v1/tasks/{id}/fail", operation_id = "fail_task", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    params(("id" = String, Path, description = "The task")),
    request_body = FailRequest,
    responses(
        (status = 200, description = "The attempt has ended", body = Acknowledgement),
        (status = 404, description = "There is no such task"),
        (status = 409, description = "The worker does not hold the task"),
        (status = 410, description = "The worker was removed"),
    )
)]
async fn fail(
    caller: Renderer,
    State(http): State<HttpState>,
    id: PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<Acknowledgement>, Problem> {
    let task = id.id("task")?;
    check_claim(&caller, &body)?;
    ask(&http.coordinator, read_fail(&body, task, caller.0)?).await?;
    Ok(Json(Acknowledgement::OK))
}

/// Gives a worker a further chunk of ids for the task it holds.
#[utoipa::path(
    post, path = "/api/v1/id-ranges", operation_id = "more_ids", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    request_body = IdRangeRequest,
    responses(
        (status = 200, description = "A chunk at least that large", body = IdChunk),
        (status = 404, description = "There is no such task"),
        (status = 409, description = "The worker holds no task, or several, or there are no more ids"),
        (status = 410, description = "The worker was removed"),
    )
)]
async fn more_ids(
    caller: Renderer,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<IdChunk>, Problem> {
    check_claim(&caller, &body)?;
    let ids = ask(&http.coordinator, read_id_request(&body, caller.0)?).await?;
    Ok(Json(ids.into()))
}

/// Takes what a worker says that comes back after a new term began.
#[utoipa::path(
    post, path = "/api/v1/workers/rebind", operation_id = "rebind_worker", tag = "simulation workers",
    security(("worker" = []), ("worker_token" = [])),
    request_body = RebindRequest,
    responses(
        (status = 200, description = "Where the worker stands, and what it is to do", body = HeartbeatResponse),
        (status = 404, description = "There is no such task"),
        (status = 409, description = "The worker knows a later epoch than this server"),
        (status = 410, description = "The worker was removed"),
    )
)]
async fn rebind(
    caller: Renderer,
    State(http): State<HttpState>,
    JsonBody(body): JsonBody,
) -> Result<Json<HeartbeatResponse>, Problem> {
    check_claim(&caller, &body)?;
    let ReceivedRebind { held, epoch } = read_rebind(&body)?;
    let own = http.coordinator.epoch();
    if epoch.is_some_and(|epoch| epoch > own) {
        return Err(Problem::conflict(format!("this server is of epoch {own}, another leads by now")));
    }
    beat(&http, Rebind { worker: caller.0, held }).await
}

/// Takes a worker off the list; what it holds is given to others at once.
#[utoipa::path(
    delete, path = "/api/v1/workers/{id}", operation_id = "remove_worker", tag = "simulation workers",
    security(("operator" = []), ("worker" = []), ("worker_token" = [])),
    params(("id" = String, Path, description = "The worker; a worker may remove itself")),
    responses(
        (status = 200, description = "The worker is removed, or was before", body = WorkerState),
        (status = 404, description = "There is no such worker"),
    )
)]
async fn remove(
    caller: RendererOrOperator,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<WorkerState>, Problem> {
    let request = |itself| Ok(Remove { worker: worker_name(&id)?, itself });
    match &caller {
        RendererOrOperator::Renderer(renderer) => {
            renderer.speaks_for(&id)?;
            ask(&http.coordinator, request(true)?).await?;
        }
        RendererOrOperator::Operator(operator) => operate(&http, operator, request(false)?).await?,
    }
    Ok(Json(WorkerState { worker_id: id, state: RendererState::Removed.as_str() }))
}

/// A worker's request for work.
struct PullRequest {
    worker: Name,
    wait: Duration,
    /// Its place among the waiting requests, until it is dropped (I9).
    place: Place,
}

impl FromRequestParts<HttpState> for PullRequest {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let OwnPath(worker) = OwnPath::from_request_parts(parts, http).await?;
        let params = Params::from_request_parts(parts, http).await?;
        let place = Place::from_request_parts(parts, http).await?;
        if parts.method == Method::HEAD {
            // Its answer would be thrown away, and the task in it with it.
            return Err(Problem::method_not_allowed("HEAD"));
        }
        params.only(&["wait_ms"])?;
        let wait = wait_of(params.opt_integer_in("wait_ms", 0..=WAIT_MS_MAX)?);
        place.wait_apart(wait)?;
        Ok(Self { worker, wait, place })
    }
}

async fn beat(http: &HttpState, request: impl Ask<Reply = Beat>) -> Result<Json<HeartbeatResponse>, Problem> {
    ask(&http.coordinator, request).await.map(HeartbeatResponse::new).map(Json)
}
