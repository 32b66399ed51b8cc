//! Rows of `task_devices` and their history (Q1, Q12).

use super::{OperatorCall, config, damaged};
use axum::Json;
use muster_contract_operations::{
    History, NameWord, ROW_WORDS, RowStatusWord, TaskDevice, TaskDeviceList, read_row_status, show_station,
    show_task,
};
use muster_http::{HttpState, Params, PathText, Problem};
use muster_model::{JobId, TaskId};
use muster_store::{Page, Reader, TaskFilter};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(show)).routes(routes!(history))
}

/// Lists the rows of a run, oldest first.
#[utoipa::path(
    get, path = "/api/runs/{id}/task_devices", operation_id = "list_task_devices", tag = "runs",
    security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The run"),
        ("status" = inline(Option<RowStatusWord>), Query, description = "Only rows that stand there"),
        ("pc_id" = inline(Option<NameWord>), Query, description = "Only rows of this PC"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Rows per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of rows", body = TaskDeviceList),
        (status = 404, description = "There is no such run"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(call: OperatorCall, id: PathText, params: Params) -> Result<Json<TaskDeviceList>, Problem> {
    params.only(&["status", "pc_id", "after", "limit"])?;
    let job: JobId = id.id("run")?;
    let page = params.cursor()?;
    let status = params.opt_choice("status", &ROW_WORDS)?.map(read_row_status);
    let filter = TaskFilter { status, worker: params.opt_name("pc_id")?, ..TaskFilter::default() };
    // Asked for first: it says 404 where there is no such run, which an empty list would hide.
    let config = config(&call.coordinator, job).await?;
    let Page { items, next } = call.read(move |store| store.tasks(job, &filter, &page)).await?;
    let rows = items.into_iter().map(|task| show_task(task, Some(config.clone())));
    Ok(Json(TaskDeviceList { task_devices: rows.collect::<Result<_, _>>().map_err(damaged)?, next }))
}

/// Shows one row.
#[utoipa::path(
    get, path = "/api/task_devices/{id}", operation_id = "show_task_device", tag = "runs", security(("operator" = [])),
    params(("id" = String, Path, description = "The row")),
    responses(
        (status = 200, description = "The row", body = TaskDevice<i64>),
        (status = 404, description = "There is no such row"),
    )
)]
async fn show(call: OperatorCall, id: PathText) -> Result<Json<TaskDevice<i64>>, Problem> {
    let id: TaskId = id.id("task_device")?;
    let task = call.find("task_device", move |store| store.task(id)).await?;
    let config = config(&call.coordinator, id.job).await?;
    show_task(task, Some(config)).map(Json).map_err(damaged)
}

/// Shows what happened to one row, oldest first.
#[utoipa::path(
    get, path = "/api/task_devices/{id}/history", operation_id = "show_history", tag = "runs",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The row")),
    responses(
        (status = 200, description = "Its stations", body = History),
        (status = 404, description = "There is no such row"),
    )
)]
async fn history(call: OperatorCall, id: PathText) -> Result<Json<History>, Problem> {
    let id: TaskId = id.id("task_device")?;
    let read = move |store: &dyn Reader| Ok(store.task(id)?.and(Some(store.task_log(id)?)));
    let log = call.find("task_device", read).await?;
    Ok(Json(History { history: log.into_iter().map(show_station).collect() }))
}
