//! The RPCs, answered the way PostgREST does (Q14).

use super::{config, damaged, refuse};
use axum::{Json, extract::State};
use muster_contract_operations::{
    ClaimArgs, ClaimedRows, CompleteArgs, Ending, FailArgs, JsonText, RenewArgs, SweepArgs, Swept,
    TaskDevice, phrase_claim, phrase_renewal, read_claim, read_complete, read_fail, read_nothing, read_renew,
    show_task_row,
};
use muster_coordinator::Refusal;
use muster_http::{Caller, HttpState, JsonBody, Problem};
use muster_model::{
    Ask, JobId, Name, TaskId, TaskRecord,
    ask::devices::{Complete, FailOrRetry, Sweep},
};
use std::collections::{BTreeMap, BTreeSet};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(claim))
        .routes(routes!(renew))
        .routes(routes!(complete))
        .routes(routes!(fail))
        .routes(routes!(sweep))
}

/// Hands a PC rows to run, confirmed, each under a lease to be renewed.
#[utoipa::path(
    post, path = "/rest/v1/rpc/claim_task_devices_for_pc", operation_id = "claim_task_devices_for_pc", tag = "rpc",
    security(("node" = []), ("operator" = []), ("apikey" = [])),
    request_body = ClaimArgs,
    responses((status = 200, description = "The rows; none for an unknown PC", body = ClaimedRows))
)]
async fn claim(
    State(http): State<HttpState>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<Json<ClaimedRows>, Problem> {
    let claim = read_claim(&body)?;
    caller.speaks_for(&http, &claim.worker)?;
    match http.ask(caller.actor(), claim).await {
        Ok(tasks) => rows(&http, tasks).await.map(ClaimedRows).map(Json),
        Err(Refusal::Rejected(rejection)) => phrase_claim(&rejection).map(Json),
        Err(refusal) => Err(refuse(refusal)),
    }
}

/// Prolongs one lease; false where there is none to prolong.
#[utoipa::path(
    post, path = "/rest/v1/rpc/renew_task_device_lease", operation_id = "renew_task_device_lease", tag = "rpc",
    security(("node" = []), ("operator" = []), ("apikey" = [])),
    request_body = RenewArgs,
    responses((status = 200, description = "Whether the lease was prolonged", body = bool, content_type = "application/json"))
)]
async fn renew(
    State(http): State<HttpState>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<Json<bool>, Problem> {
    let renewal = read_renew(&body)?;
    caller.speaks_for(&http, &renewal.worker)?;
    match http.ask(caller.actor(), renewal).await {
        Ok(renewed) => Ok(Json(renewed)),
        Err(Refusal::Rejected(rejection)) => phrase_renewal(&rejection).map(Json),
        Err(refusal) => Err(refuse(refusal)),
    }
}

/// Ends a running row well.
#[utoipa::path(
    post, path = "/rest/v1/rpc/complete_task_device", operation_id = "complete_task_device", tag = "rpc",
    security(("node" = []), ("operator" = []), ("apikey" = [])),
    request_body = CompleteArgs,
    responses(
        (status = 200, description = "The row as it stands now", body = TaskDevice<String>),
        (status = 404, description = "There is no such row"),
        (status = 409, description = "The row is not running, or another PC's"),
    )
)]
async fn complete(
    State(http): State<HttpState>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<Json<TaskDevice<String>>, Problem> {
    let Ending { task, worker, left } = read_complete(&body)?;
    check_holder(&http, &caller, task, worker.as_ref()).await?;
    end(&http, &caller, Complete { task, worker, result: left }).await
}

/// Ends a running attempt badly; another follows while attempts are left.
#[utoipa::path(
    post, path = "/rest/v1/rpc/fail_or_retry_task_device", operation_id = "fail_or_retry_task_device", tag = "rpc",
    security(("node" = []), ("operator" = []), ("apikey" = [])),
    request_body = FailArgs,
    responses(
        (status = 200, description = "The row as it stands now", body = TaskDevice<String>),
        (status = 404, description = "There is no such row"),
        (status = 409, description = "The row is not running, or another PC's"),
    )
)]
async fn fail(
    State(http): State<HttpState>,
    caller: Caller,
    JsonBody(body): JsonBody,
) -> Result<Json<TaskDevice<String>>, Problem> {
    let Ending { task, worker, left } = read_fail(&body)?;
    check_holder(&http, &caller, task, worker.as_ref()).await?;
    end(&http, &caller, FailOrRetry { task, worker, error: left }).await
}

/// Ends what has taken too long.
#[utoipa::path(
    post, path = "/rest/v1/rpc/fn_timeout_tasks_and_task_devices", operation_id = "fn_timeout_tasks_and_task_devices",
    tag = "rpc", security(("node" = []), ("operator" = []), ("apikey" = [])),
    request_body = Option<SweepArgs>,
    responses((status = 200, description = "How much ended", body = Swept))
)]
async fn sweep(
    State(http): State<HttpState>,
    caller: Caller,
    body: Option<JsonBody>,
) -> Result<Json<Swept>, Problem> {
    read_nothing(body.as_ref().map(|body| &body.0))?;
    let swept = http.ask(caller.actor(), Sweep {}).await.map_err(refuse)?;
    Ok(Json(swept.into()))
}

/// A node's own secret ends that node's rows only, also where the caller names no holder.
async fn check_holder(
    http: &HttpState,
    caller: &Caller,
    task: TaskId,
    named: Option<&Name>,
) -> Result<(), Problem> {
    if let Some(worker) = named {
        return caller.speaks_for(http, worker);
    }
    if matches!(caller, Caller::Operator(_)) {
        return Ok(());
    }
    let row = http.coordinator.read(move |store| store.task(task)).await.map_err(refuse)?;
    row.map_or(Ok(()), |row| caller.speaks_for(http, &row.worker))
}

async fn end(
    http: &HttpState,
    caller: &Caller,
    request: impl Ask<Reply = Box<TaskRecord>>,
) -> Result<Json<TaskDevice<String>>, Problem> {
    let task = http.ask(caller.actor(), request).await.map_err(refuse)?;
    let config = config(&http.coordinator, task.id.job).await?;
    show_task_row(*task, Some(config)).map(Json).map_err(damaged)
}

async fn rows(http: &HttpState, tasks: Vec<TaskRecord>) -> Result<Vec<TaskDevice<String>>, Problem> {
    let mut configs = BTreeMap::<JobId, JsonText>::new();
    for job in tasks.iter().map(|task| task.id.job).collect::<BTreeSet<_>>() {
        configs.insert(job, config(&http.coordinator, job).await?);
    }
    let row = |task: TaskRecord| {
        let config = configs.get(&task.id.job).cloned();
        show_task_row(task, config)
    };
    tasks.into_iter().map(row).collect::<Result<_, _>>().map_err(damaged)
}
