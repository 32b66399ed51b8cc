//! Jobs as clients hand them in and list them (P13, P18).

use super::{ask, query::Query, refuse};
use crate::bodies::{LargeBody, apart};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use muster_contract_pool::{
    BatchAnswer, BatchItem, BatchRequest, Job, JobList, JobRequest, read_idempotency_key,
};
use muster_http::{BodyBytes, Client, HttpState, Identity, Params, Problem};
use muster_model::{
    Actor, PoolJobDraft, PoolJobId, PoolJobStatus, PoolSubmission, PoolSubmissionReply, Role, UserId,
};
use muster_store::{Cursor, Page, PoolJobFilter, PoolJobView, Reader, StoreError};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(create, list)).routes(routes!(batch))
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
    let jobs = ids.map(|id| BatchItem { id, status: PoolJobStatus::Queued }).collect();
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

/// Whose jobs somebody sees: their own, or, as an ADMIN, all.
pub(super) fn whose(client: &Identity) -> Option<UserId> {
    (!client.roles.contains(Role::Admin)).then_some(client.id)
}

/// Shows a job as it is now.
pub(super) fn show_job(view: PoolJobView) -> Job {
    let status = view.status();
    let result = view.result.and_then(|assignment| assignment.result);
    Job::of(view.job, status, view.end, result.as_deref())
}

/// A job as it is stored.
pub(super) async fn stored(http: &HttpState, id: PoolJobId) -> Result<Option<PoolJobView>, Problem> {
    http.coordinator.read(move |reader| reader.pool_job(id)).await.map_err(refuse)
}

/// A job as it was taken, now or before.
pub(super) async fn created(
    http: &HttpState,
    draft: PoolJobDraft,
    taken: PoolSubmissionReply,
) -> Result<Job, Problem> {
    let before = if taken.repeated { stored(http, taken.first).await? } else { None };
    Ok(match before {
        Some(view) => Job::created(view.job.id, view.job.draft, view.job.created_at),
        None => Job::created(taken.first, draft, taken.at),
    })
}

/// Hands jobs in, under the key of the request if it has one.
pub(super) async fn submit(
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
