//! Schedules: make, list, show, delete (Q17).

use super::{OperatorCall, damaged};
use axum::{
    Json,
    http::{HeaderMap, StatusCode},
};
use muster_contract_operations::{
    Schedule, ScheduleList, ScheduleRequest, ScheduleState, read_key, read_schedule, show_schedule,
};
use muster_http::{HttpState, JsonBody, Params, PathText, Problem};
use muster_model::{ScheduleId, ask::schedules::Delete};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(show, delete))
}

/// Has a run submitted at each slot of a cron expression.
#[utoipa::path(
    post, path = "/api/schedules", operation_id = "create_schedule", tag = "schedules",
    security(("operator" = [])),
    params(("Idempotency-Key" = Option<String>, Header,
        description = "Recognises a repeat for 24 hours, as long as the schedule stands",
        min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$")),
    request_body = ScheduleRequest,
    responses(
        (status = 201, description = "The schedule stands", body = ScheduleState),
        (status = 409, description = "The Idempotency-Key was used before, for another body; or there are too many"),
    )
)]
async fn create(
    call: OperatorCall,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<ScheduleState>), Problem> {
    let attempt_timeout = call.coordinator.settings().attempt_timeout;
    let mut draft = read_schedule(&body, attempt_timeout, call.coordinator.now())?;
    draft.run.key = read_key(&headers)?;
    let made = call.ask(draft).await?;
    Ok((StatusCode::CREATED, Json(ScheduleState::from(&*made))))
}

/// Lists schedules, oldest first.
#[utoipa::path(
    get, path = "/api/schedules", operation_id = "list_schedules", tag = "schedules",
    security(("operator" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Schedules per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of schedules", body = ScheduleList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(call: OperatorCall, params: Params) -> Result<Json<ScheduleList>, Problem> {
    params.only(&["after", "limit"])?;
    let page = params.cursor()?;
    let Page { items, next } = call.read(move |store| store.schedules(&page)).await?;
    let schedules = items.into_iter().map(show_schedule).collect::<Result<_, _>>().map_err(damaged)?;
    Ok(Json(ScheduleList { schedules, next }))
}

/// Shows a schedule.
#[utoipa::path(
    get, path = "/api/schedules/{id}", operation_id = "show_schedule", tag = "schedules",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The schedule")),
    responses(
        (status = 200, description = "The schedule", body = Schedule),
        (status = 404, description = "There is no such schedule"),
    )
)]
async fn show(call: OperatorCall, id: PathText) -> Result<Json<Schedule>, Problem> {
    let id: ScheduleId = id.id("schedule")?;
    let found = call.find("schedule", move |store| store.schedule(id)).await?;
    show_schedule(found).map(Json).map_err(damaged)
}

/// Ends a schedule; the runs it made stay.
#[utoipa::path(
    delete, path = "/api/schedules/{id}", operation_id = "delete_schedule", tag = "schedules",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The schedule")),
    responses(
        (status = 204, description = "The schedule is gone"),
        (status = 404, description = "There is no such schedule"),
    )
)]
async fn delete(call: OperatorCall, id: PathText) -> Result<StatusCode, Problem> {
    call.ask(Delete { schedule: id.id("schedule")? }).await?;
    Ok(StatusCode::NO_CONTENT)
}
