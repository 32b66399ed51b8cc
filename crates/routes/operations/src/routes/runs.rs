//! Runs: submit, list, show, cancel (Q15, Q7).

use super::OperatorCall;
use axum::{
    Extension, Json,
    http::{HeaderMap, StatusCode},
};
use muster_contract_operations::{
    Counts, ListedRun, NameWord, Progress, RUN_WORDS, RowCounts, RunDetail, RunFilter, RunList, RunRequest,
    RunState, RunStatusWord, SubmittedRun, Warning, count_rows, rate_since, read_key, read_run_status,
    read_submission, show_listed, show_state, show_warnings,
};
use muster_http::{HttpState, JsonBody, Params, PathText, Problem};
use muster_model::{JobId, JobReply, Scope, Timestamp, ask::devices::Cancel};
use muster_store::{CountedJob, Cursor, JobFilter, Page, Reader, StoreError};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(submit, list))
        .routes(routes!(show))
        .routes(routes!(cancel))
        .layer(Extension(ClosedCounts::default()))
}

/// Takes a new run into its queue.
#[utoipa::path(
    post, path = "/api/runs", operation_id = "submit_run", tag = "runs", security(("operator" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "Recognises a repeat for 24 hours",
        min_length = 1, max_length = 128, pattern = "^[!-~]([ -~]*[!-~])?$")),
    request_body = RunRequest,
    responses(
        (status = 201, description = "The run is in its queue", body = SubmittedRun),
        (status = 409, description = "The Idempotency-Key was used before, for another body"),
    )
)]
async fn submit(
    call: OperatorCall,
    headers: HeaderMap,
    JsonBody(body): JsonBody,
) -> Result<(StatusCode, Json<SubmittedRun>), Problem> {
    let mut submission = read_submission(&body, call.coordinator.settings().attempt_timeout)?;
    submission.key = read_key(&headers)?;
    let scope = submission.scope.clone();
    let JobReply { job, status } = call.ask(submission).await?;
    let state = show_state(job, status);
    Ok((StatusCode::CREATED, Json(SubmittedRun { state, warnings: warnings(&call, scope).await })))
}

/// Warnings about names in a run's scope that match nothing. The run stands, so trouble to find that out is no trouble
/// for whoever submitted it.
async fn warnings(call: &OperatorCall, scope: Scope) -> Vec<Warning> {
    if scope == Scope::All {
        return Vec::new();
    }
    let found = call.coordinator.strangers(scope.clone()).await;
    let grace = call.coordinator.settings().offline_grace;
    found.map(|found| show_warnings(&scope, &found, grace)).unwrap_or_default()
}

/// Lists runs, newest first, with how far each is.
#[utoipa::path(
    get, path = "/api/runs", operation_id = "list_runs", tag = "runs", security(("operator" = [])),
    params(
        ("status" = inline(Option<RunStatusWord>), Query, description = "Only runs that stand there"),
        ("queue" = inline(Option<NameWord>), Query, description = "Only runs of this queue"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Runs per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of runs", body = RunList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    call: OperatorCall,
    Extension(closed): Extension<ClosedCounts>,
    params: Params,
) -> Result<Json<RunList>, Problem> {
    params.only(&["status", "queue", "after", "limit"])?;
    let (page, queue) = (params.cursor()?, params.opt_name("queue")?);
    let status = match params.opt_choice("status", &RUN_WORDS)?.map(read_run_status) {
        Some(RunFilter::None) => {
            return Ok(Json(RunList { runs: Vec::new(), next: None }));
        }
        Some(RunFilter::Is(status)) => Some(status),
        None => None,
    };
    let filter = JobFilter { status, queue };
    let Page { items: runs, next } = call.read(move |store| closed.page(store, &filter, &page)).await?;
    Ok(Json(RunList { runs, next }))
}

/// Shows a run with its figures.
#[utoipa::path(
    get, path = "/api/runs/{id}", operation_id = "show_run", tag = "runs", security(("operator" = [])),
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, description = "The run", body = RunDetail),
        (status = 404, description = "There is no such run"),
    )
)]
async fn show(call: OperatorCall, id: PathText) -> Result<Json<RunDetail>, Problem> {
    let (id, now) = (id.id("run")?, call.coordinator.now());
    let progress = call.find("run", move |store| progress(store, id, now)).await?;
    Ok(Json(progress.show()))
}

/// Ends a run; what it has running is told to stop.
#[utoipa::path(
    post, path = "/api/runs/{id}/cancel", operation_id = "cancel_run", tag = "runs", security(("operator" = [])),
    params(("id" = String, Path, description = "The run")),
    responses(
        (status = 200, description = "The run is cancelled", body = RunState),
        (status = 404, description = "There is no such run"),
        (status = 409, description = "The run had ended before"),
    )
)]
async fn cancel(call: OperatorCall, id: PathText) -> Result<Json<RunState>, Problem> {
    let JobReply { job, status } = call.ask(Cancel { job: id.id("run")? }).await?;
    Ok(Json(show_state(job, status)))
}

fn progress(store: &dyn Reader, id: JobId, now: Timestamp) -> Result<Option<Progress>, StoreError> {
    let Some(job) = store.job(id)? else {
        return Ok(None);
    };
    let counts = store.job_counts(id, rate_since(job.started_at, now))?;
    let counts = RowCounts { per_worker: counts.per_worker, ended_since: counts.ended_since };
    let targets = store.targets(&job.scope)?;
    Ok(Some(Progress { job, counts, targets, now }))
}

/// Counts of closed runs: taken when somebody first looks, since they change no more.
#[derive(Clone, Default)]
struct ClosedCounts(Arc<Mutex<Arc<BTreeMap<JobId, Counts>>>>);

impl ClosedCounts {
    /// A page of runs, all of it as at one moment.
    fn page(
        &self,
        store: &dyn Reader,
        filter: &JobFilter,
        page: &Cursor,
    ) -> Result<Page<ListedRun>, StoreError> {
        // Held as they are: what others look at meanwhile may push some of them out.
        let known = Arc::clone(&self.counts());
        let Page { items, next } = store.counted_jobs(filter, page, &|id| known.contains_key(&id))?;
        let mut fresh = Vec::new();
        let mut show = |CountedJob { job, tasks, targets }: CountedJob| {
            let counts = match &tasks {
                Some(tasks) => count_rows(tasks),
                None => known.get(&job.id).copied().unwrap_or_default(),
            };
            if !job.open && tasks.is_some() {
                fresh.push((job.id, counts));
            }
            show_listed(job, counts, targets)
        };
        let items = items.into_iter().map(&mut show).collect();
        drop(known);
        self.keep(fresh);
        Ok(Page { items, next })
    }

    fn keep(&self, fresh: Vec<(JobId, Counts)>) {
        if fresh.is_empty() {
            return;
        }
        let mut counts = self.counts();
        let kept = Arc::make_mut(&mut counts);
        kept.extend(fresh);
        // The oldest are looked at least.
        while kept.len() > KEPT_MAX {
            kept.pop_first();
        }
    }

    fn counts(&self) -> MutexGuard<'_, Arc<BTreeMap<JobId, Counts>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Several of the longest pages.
const KEPT_MAX: usize = 5000;
