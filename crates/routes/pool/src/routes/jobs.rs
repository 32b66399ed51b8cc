//! Jobs as clients hand them in and list them; and one job: its result, its end, its receipt, its explanation, and its retry
//! (P13, P15, P17, P18).

use super::{ask, job_id, no_job, query::Query, refuse};
use crate::{
    bodies::{LargeBody, apart},
    explain::explain,
};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use muster_contract_pool::{
    BatchAnswer, BatchItem, BatchRequest, Explained, Job, JobList, JobRequest, Receipt, Refusal,
    read_idempotency_key, resubmission,
};
use muster_http::{BodyBytes, Client, HttpState, Identity, Params, PathText, Place, Problem};
use muster_model::{
    Actor, AssignmentId, PoolCause, PoolJobDraft, PoolJobId, PoolJobStatus, PoolSubmission,
    PoolSubmissionReply, Role, UserId, ask::pool::Cancel,
};
use muster_store::{Cursor, Page, PoolJobFilter, PoolJobView, Reader, StoreError};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(create, list))
        .routes(routes!(batch))
        .routes(routes!(show, cancel))
        .routes(routes!(receipt))
        .routes(routes!(explained))
        .routes(routes!(retry))
}

/// Takes a job. A repeat under the same Idempotency-Key is answered as the first was and changes nothing.
#[utoipa::path(
    post, path = "/jobs", operation_id = "pool_create_job", tag = "pool jobs",
    security(("user" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "Recognises a repeat; the user's own",
        min_length = 1, max_length = 128)),
    request_body = JobRequest,
    responses(
        (status = 201, description = "The job as it was taken, now or before", body = Job),
        (status = 409, description = "Idempotency-Key was used before, for another body"),
        (status = 429, description = "Too many of the user's jobs wait"),
    )
)]
async fn create(
    Client(client): Client,
    State(http): State<HttpState>,
    headers: HeaderMap,
    BodyBytes(body): BodyBytes,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let submission = apart(body.len(), move || JobRequest::parse(&body, client.id)).await??;
    let draft = submission.jobs.first().cloned();
    let draft = draft.ok_or_else(|| Problem::internal(&"a submission without its job"))?;
    let taken = submit(&http, None, submission, &headers).await?;
    Ok((StatusCode::CREATED, Json(created(&http, draft, taken).await?)))
}

/// Takes many jobs, all or none.
#[utoipa::path(
    post, path = "/jobs/batch", operation_id = "pool_create_jobs", tag = "pool jobs",
    security(("user" = [])),
    params(("Idempotency-Key" = Option<String>, Header, description = "Recognises a repeat; the user's own",
        min_length = 1, max_length = 128)),
    request_body = BatchRequest,
    responses(
        (status = 201, description = "The jobs as they were taken, now or before, in their order", body = BatchAnswer),
        (status = 409, description = "Idempotency-Key was used before, for another body"),
        (status = 429, description = "Too many of the user's jobs wait"),
    )
)]
async fn batch(
    Client(client): Client,
    State(http): State<HttpState>,
    headers: HeaderMap,
    body: LargeBody,
) -> Result<(StatusCode, Json<BatchAnswer>), Problem> {
    let (bytes, payload_max) = (body.bytes.clone(), http.settings.body_limit_bytes);
    let submission =
        apart(bytes.len(), move || BatchRequest::parse(&bytes, client.id, payload_max)).await??;
    let taken = submit(&http, None, submission, &headers).await?;
    let ids = taken.first.0..taken.first.0.saturating_add(u64::from(taken.count));
    let jobs = ids.map(|id| BatchItem { id, status: PoolJobStatus::Queued.as_str().into() }).collect();
    Ok((StatusCode::CREATED, Json(BatchAnswer { jobs })))
}

/// Lists jobs, newest first: the caller's own, or all for an ADMIN.
#[utoipa::path(
    get, path = "/jobs", operation_id = "pool_list_jobs", tag = "pool jobs",
    security(("user" = [])),
    params(
        ("status" = Option<String>, Query, description = "Only these",
            pattern = "^(queued|running|completed|failed|cancelled)$"),
        ("limit" = Option<i64>, Query, description = "At most so many, 100 without it", minimum = 1, maximum = 1000),
        ("after" = Option<String>, Query, description = "What the page before gave as next"),
    ),
    responses(
        (status = 200, description = "A page of jobs", body = JobList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    Client(client): Client,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<JobList>, Problem> {
    let query = Query::of(&params, &["status", "limit", "after"])?;
    let (filter, cursor) =
        (PoolJobFilter { client: whose(&client), status: query.status()? }, query.cursor()?);
    let page = http.coordinator.read(move |reader| within(reader, &filter, cursor)).await.map_err(refuse)?;
    Ok(Json(JobList { jobs: page.items.into_iter().map(show_job).collect(), next: page.next }))
}

/// The client whose jobs somebody sees: themselves, or, as an ADMIN, any.
fn whose(client: &Identity) -> Option<UserId> {
    (!client.roles.contains(Role::Admin)).then_some(client.id)
}

/// Shows a job as it is now.
fn show_job(view: PoolJobView) -> Job {
    let status = view.status();
    let result = view.result.and_then(|assignment| assignment.result);
    Job::of(view.job, status, view.end, result.as_deref())
}

/// A job as it is stored.
async fn stored(http: &HttpState, id: PoolJobId) -> Result<Option<PoolJobView>, Problem> {
    http.coordinator.read(move |reader| reader.pool_job(id)).await.map_err(refuse)
}

/// A job as it was taken, now or before.
async fn created(http: &HttpState, draft: PoolJobDraft, taken: PoolSubmissionReply) -> Result<Job, Problem> {
    let before = if taken.repeated { stored(http, taken.first).await? } else { None };
    Ok(match before {
        Some(view) => Job::created(view.job.id, view.job.draft, view.job.created_at),
        None => Job::created(taken.first, draft, taken.at),
    })
}

/// Hands jobs in, under the key of the request if it has one.
async fn submit(
    http: &HttpState,
    actor: Option<Actor>,
    mut submission: PoolSubmission,
    headers: &HeaderMap,
) -> Result<PoolSubmissionReply, Problem> {
    submission.key = read_idempotency_key(headers)?;
    ask(http, actor, submission).await
}

/// Reads a page in small steps and ends it early where the jobs in it are large: a page must fit into memory many times.
fn within(
    reader: &dyn Reader,
    filter: &PoolJobFilter,
    cursor: Cursor,
) -> Result<Page<PoolJobView>, StoreError> {
    let mut page = Page { items: Vec::new(), next: cursor.after };
    let (mut left, mut bytes) = (cursor.limit, 0);
    loop {
        let step = Cursor { after: page.next.take(), limit: left.min(STEP) };
        let read = reader.pool_jobs(filter, &step)?;
        left = left.saturating_sub(u32::try_from(read.items.len()).unwrap_or(u32::MAX));
        let is_dry = read.items.is_empty();
        bytes += read.items.iter().map(size).sum::<usize>();
        page.items.extend(read.items);
        page.next = read.next;
        // One step looks at a bounded number of rows; where it found nothing the caller may go on, or not.
        if page.next.is_none() || left == 0 || bytes >= PAGE_BYTES || is_dry {
            return Ok(page);
        }
    }
}

fn size(view: &PoolJobView) -> usize {
    let result = view.result.as_ref().and_then(|assignment| assignment.result.as_ref());
    let texts = result
        .map(|result| [&result.output, &result.metrics, &result.error].map(|text| length(text.as_deref())));
    view.job.draft.payload.len() + texts.map_or(0, |texts| texts.iter().sum())
}

fn length(text: Option<&str>) -> usize {
    text.map_or(0, str::len)
}

const STEP: u32 = 10;
const PAGE_BYTES: usize = 8 << 20;

/// Shows a job, and waits for its end if that is asked for.
#[utoipa::path(
    get, path = "/jobs/{id}", operation_id = "pool_show_job", tag = "pool jobs",
    security(("user" = [])),
    params(
        ("id" = String, Path, description = "The job"),
        ("wait_ms" = Option<i64>, Query, description = "How long to wait for its end", minimum = 0, maximum = 30_000),
    ),
    responses(
        (status = 200, description = "The job, ended or as it stands when the wait is over", body = Job),
        (status = 404, description = "Job not found"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
#[allow(clippy::too_many_arguments, reason = "one for each part of the request")]
async fn show(
    Client(client): Client,
    State(http): State<HttpState>,
    PathText(id): PathText,
    params: Params,
    place: Place,
) -> Result<Json<Job>, Problem> {
    let wait = Query::of(&params, &["wait_ms"])?.wait()?;
    let id = job_id(&id)?;
    // Watched first and looked at then, it cannot end unseen in between.
    let watch = (!wait.is_zero()).then(|| http.coordinator.pool().watch(id));
    let mut view = visible(&http, &client, id).await?;
    if let (None, Some(watch)) = (&view.end, watch) {
        place.wait_apart(wait)?;
        watch.ended(wait).await;
        client.look_again(&http)?;
        view = visible(&http, &client, id).await?;
    }
    let is_open = view.end.is_none();
    let cause = if is_open { http.coordinator.explain_pool(id).await.map_err(refuse)? } else { None };
    let now = http.coordinator.now();
    let explanation = cause.map(|cause| explain(id, cause, now).explanation);
    Ok(Json(Job { explanation, ..show_job(view) }))
}

/// Ends a job; what its workers still hand in is refused.
#[utoipa::path(
    delete, path = "/jobs/{id}", operation_id = "pool_cancel_job", tag = "pool jobs",
    security(("user" = [])),
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, description = "The job, cancelled", body = Job),
        (status = 404, description = "Job not found"),
        (status = 409, description = "Job already finished"),
    )
)]
async fn cancel(
    Client(client): Client,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<Job>, Problem> {
    let (job, owner) = (job_id(&id)?, whose(&client));
    // Record the actor if the caller may cancel the jobs of every client.
    let actor = owner.is_none().then(|| client.actor());
    ask(&http, actor, Cancel { job, client: owner }).await?;
    Ok(Json(show_job(visible(&http, &client, job).await?)))
}

/// Gives what proves a result, to be checked offline.
#[utoipa::path(
    get, path = "/jobs/{id}/receipt", operation_id = "pool_job_receipt", tag = "pool jobs",
    security(("user" = [])),
    params(
        ("id" = String, Path, description = "The job"),
        ("assignment_id" = Option<i64>, Query, description = "Of this assignment; of the accepted one without it",
            minimum = 0, maximum = 9_007_199_254_740_991_i64),
    ),
    responses(
        (status = 200, description = "The receipt", body = Receipt),
        (status = 404, description = "Job not found, or Receipt not found"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn receipt(
    Client(client): Client,
    State(http): State<HttpState>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<Receipt>, Problem> {
    let assignment = Query::of(&params, &["assignment_id"])?.assignment()?;
    let view = visible(&http, &client, job_id(&id)?).await?;
    let found = match assignment {
        Some(assignment) => one_of(&http, view.job.id, assignment).await?,
        None => view.result.as_ref().and_then(Receipt::of),
    };
    found.map(Json).ok_or_else(|| Refusal::not_found("Receipt not found").into())
}

/// Says why a job is not done yet, and what to do about it.
#[utoipa::path(
    get, path = "/jobs/{id}/explain", operation_id = "pool_explain_job", tag = "pool jobs",
    security(("user" = [])),
    params(("id" = String, Path, description = "The job")),
    responses(
        (status = 200, description = "The one thing it waits for", body = Explained),
        (status = 404, description = "Job not found"),
    )
)]
async fn explained(
    Client(client): Client,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<Explained>, Problem> {
    let id = job_id(&id)?;
    let view = visible(&http, &client, id).await?;
    let cause = match &view.end {
        Some(_) => None,
        None => http.coordinator.explain_pool(id).await.map_err(refuse)?,
    };
    let cause = cause.unwrap_or(PoolCause::Ended { status: view.status() });
    Ok(Json(explain(id, cause, http.coordinator.now())))
}

/// Takes a job that failed or was cancelled once more, as a new job.
///
/// What has ended stays ended. The new job is its client's, with the same payload, priority and demands.
#[utoipa::path(
    post, path = "/jobs/{id}/retry", operation_id = "pool_retry_job", tag = "pool jobs",
    security(("user" = [])),
    params(
        ("id" = String, Path, description = "The job"),
        ("Idempotency-Key" = Option<String>, Header, description = "Recognises a repeat; the client's own",
            min_length = 1, max_length = 128),
    ),
    responses(
        (status = 201, description = "The new job as it was taken, now or before", body = Job),
        (status = 404, description = "Job not found"),
        (status = 409, description = "Job did not fail; or the Idempotency-Key was used before, for something else"),
        (status = 422, description = "A header has a value it cannot have"),
        (status = 429, description = "Too many of the user's jobs wait"),
    )
)]
async fn retry(
    Client(client): Client,
    State(http): State<HttpState>,
    PathText(id): PathText,
    headers: HeaderMap,
) -> Result<(StatusCode, Json<Job>), Problem> {
    let id = job_id(&id)?;
    let view = visible(&http, &client, id).await?;
    if !matches!(view.status(), PoolJobStatus::Failed | PoolJobStatus::Cancelled) {
        return Err(Refusal::conflict("Job did not fail").into());
    }
    let submission = resubmission(&view.job);
    let taken = submit(&http, accountable(&client, id), submission, &headers).await?;
    Ok((StatusCode::CREATED, Json(created(&http, view.job.draft, taken).await?)))
}

/// The entry of the audit log for somebody who may resubmit any client's job (I7).
fn accountable(client: &Identity, job: PoolJobId) -> Option<Actor> {
    let actor = whose(client).is_none().then(|| client.actor())?;
    let reason = match &actor.reason {
        Some(reason) => format!("retry of job {job}: {reason}"),
        None => format!("retry of job {job}"),
    };
    Some(Actor { reason: Some(reason.into()), ..actor })
}

/// A job that the caller may see; another client's counts as missing (P13).
async fn visible(http: &HttpState, client: &Identity, id: PoolJobId) -> Result<PoolJobView, Problem> {
    let seen = |view: &PoolJobView| whose(client).is_none_or(|client| client == view.job.client);
    stored(http, id).await?.filter(seen).ok_or_else(no_job)
}

async fn one_of(http: &HttpState, job: PoolJobId, id: AssignmentId) -> Result<Option<Receipt>, Problem> {
    let assignments = http.coordinator.read(move |reader| reader.assignments(job)).await.map_err(refuse)?;
    Ok(assignments.iter().find(|assignment| assignment.id == id).and_then(Receipt::of))
}
