//! Tasks that are given up or placed by hand (S5b, S6).

use super::{ask, check_claim, operate};
use axum::{Json, extract::State};
use muster_contract_simulation::{
    Acknowledgement, AssignRequest, AssignResponse, FailRequest, read_assignment, read_fail,
};
use muster_http::{HttpState, JsonBody, Operator, PathText, Problem, Renderer};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(fail)).routes(routes!(assign))
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
