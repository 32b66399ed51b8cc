//! Rows of `task_devices`, their history, their attempts and the files they left behind, of a run and of a device (Q1, Q12,
//! N21).

use super::{OperatorCall, config, damaged, damaged_run};
use axum::Json;
use muster_artifacts::StoragePath;
use muster_contract_operations::{
    ArtifactList, AttemptList, History, JsonText, NameWord, ROW_WORDS, RowStatusWord, TaskDevice,
    TaskDeviceList, read_row_status, show_artifact, show_attempts, show_station, show_task,
};
use muster_http::{HttpState, Params, PathText, Problem};
use muster_model::{JobId, JobRecord, Name, Scope, TaskId, TaskRecord};
use muster_store::{Cursor, JobFilter, Page, Reader, StoreError, TaskFilter};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(list))
        .routes(routes!(show))
        .routes(routes!(history))
        .routes(routes!(attempts))
        .routes(routes!(artifacts))
        .routes(routes!(rows_of_device))
        .routes(routes!(artifacts_of_device))
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

/// Lists the attempts of a run, oldest row first.
#[utoipa::path(
    get, path = "/api/runs/{id}/attempts", operation_id = "list_attempts", tag = "runs", security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The run"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Rows per page, each with all of its attempts", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "The attempts of a page of rows", body = AttemptList),
        (status = 404, description = "There is no such run"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn attempts(call: OperatorCall, id: PathText, params: Params) -> Result<Json<AttemptList>, Problem> {
    let (job, page) = asked(&call, &id, &params).await?;
    let read = move |store: &dyn Reader| {
        let Page { items, next } = store.tasks(job, &TaskFilter::default(), &page)?;
        let stations = match (items.first(), items.last()) {
            (Some(first), Some(last)) => store.task_logs(first.id, last.id)?,
            _ => Vec::new(),
        };
        Ok(AttemptList { attempts: show_attempts(&items, &stations), next })
    };
    call.read(read).await.map(Json)
}

/// Lists the files that a run's rows left behind, oldest row first.
#[utoipa::path(
    get, path = "/api/runs/{id}/artifacts", operation_id = "list_artifacts", tag = "runs", security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The run"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Files per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of files", body = ArtifactList),
        (status = 404, description = "There is no such run"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn artifacts(call: OperatorCall, id: PathText, params: Params) -> Result<Json<ArtifactList>, Problem> {
    let (job, page) = asked(&call, &id, &params).await?;
    let filter = TaskFilter { has_artifact: true, ..TaskFilter::default() };
    let Page { items, next } = call.read(move |store| store.tasks(job, &filter, &page)).await?;
    Ok(Json(ArtifactList {
        artifacts: items.iter().filter_map(|task| show_artifact(task, stored)).collect(),
        next,
    }))
}

/// Lists a device's rows in the newest runs, newest first.
#[utoipa::path(
    get, path = "/api/devices/{id}/task_devices", operation_id = "list_task_devices_of_device", tag = "devices",
    security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The device's serial"),
        ("limit" = Option<u32>, Query, description = "Rows at most", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "Its rows in the newest 50 runs", body = TaskDeviceList),
        (status = 404, description = "There is no such device"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn rows_of_device(
    call: OperatorCall,
    id: PathText,
    params: Params,
) -> Result<Json<TaskDeviceList>, Problem> {
    let mut task_devices = Vec::new();
    for (job, task) in newest(&call, &id, &params, false).await? {
        let payload = job.payload.ok_or_else(damaged_run)?;
        let config = JsonText::new(&payload.params).map_err(damaged)?;
        task_devices.push(show_task(task, Some(config)).map_err(damaged)?);
    }
    Ok(Json(TaskDeviceList { task_devices, next: None }))
}

/// Lists the files that a device's rows in the newest runs left behind, newest first.
#[utoipa::path(
    get, path = "/api/devices/{id}/artifacts", operation_id = "list_artifacts_of_device", tag = "devices",
    security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The device's serial"),
        ("limit" = Option<u32>, Query, description = "Files at most", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "Its files of the newest 50 runs", body = ArtifactList),
        (status = 404, description = "There is no such device"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn artifacts_of_device(
    call: OperatorCall,
    id: PathText,
    params: Params,
) -> Result<Json<ArtifactList>, Problem> {
    let rows = newest(&call, &id, &params, true).await?;
    let artifacts = rows.iter().filter_map(|(_, task)| show_artifact(task, stored)).collect();
    Ok(Json(ArtifactList { artifacts, next: None }))
}

/// The run and the page that a request is about; 404 where there is no such run, which an empty list would hide.
async fn asked(call: &OperatorCall, id: &PathText, params: &Params) -> Result<(JobId, Cursor), Problem> {
    params.only(&["after", "limit"])?;
    let (job, page) = (id.id("run")?, params.cursor()?);
    config(&call.coordinator, job).await?;
    Ok((job, page))
}

/// The rows of a device that a request is about, with their runs.
async fn newest(
    call: &OperatorCall,
    id: &PathText,
    params: &Params,
    has_artifact: bool,
) -> Result<Vec<(JobRecord, TaskRecord)>, Problem> {
    params.only(&["limit"])?;
    let (lane, limit) = (id.name("device")?, params.cursor()?.limit as usize);
    let read = move |store: &dyn Reader| {
        let Some(lane) = store.lane(&lane)? else {
            return Ok(None);
        };
        let filter = TaskFilter { lane: Some(lane.id), has_artifact, ..TaskFilter::default() };
        rows_in_newest_runs(store, &filter, limit).map(Some)
    };
    call.find("device", read).await
}

/// No index finds the rows of a device, since every commit would pay for it. A run is one range of the key, so the newest
/// runs are looked through, up to a bound.
fn rows_in_newest_runs(
    store: &dyn Reader,
    filter: &TaskFilter,
    limit: usize,
) -> Result<Vec<(JobRecord, TaskRecord)>, StoreError> {
    let runs = store.jobs(&JobFilter::default(), &Cursor { after: None, limit: RUNS_MAX })?;
    let mut found = Vec::new();
    let mut rows = 0;
    for job in runs.items.into_iter().filter(|job| may_be_in(job, filter.lane.as_ref())) {
        if found.len() >= limit {
            break;
        }
        if rows + u64::from(job.tasks) > ROWS_MAX {
            continue;
        }
        rows += u64::from(job.tasks);
        let row = store.tasks(job.id, filter, &Cursor { after: None, limit: 1 })?.items.pop();
        found.extend(row.map(|row| (job, row)));
    }
    Ok(found)
}

/// True if a run can have a row of the device. Where it is attached, and its labels, may have been others then.
fn may_be_in(job: &JobRecord, lane: Option<&Name>) -> bool {
    let is_named = match (&job.scope, lane) {
        (Scope::Devices(devices), Some(lane)) => devices.contains(lane),
        _ => true,
    };
    job.tasks > 0 && is_named
}

const RUNS_MAX: u32 = 50;
/// As many rows as are read in well under a second.
const ROWS_MAX: u64 = 500_000;

/// The path of a file as this server stores it; nothing for a path that is none.
fn stored(path: &str) -> Option<String> {
    StoragePath::parse(path).ok().map(|path| path.to_string())
}
