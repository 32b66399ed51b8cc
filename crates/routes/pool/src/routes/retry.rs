//! A job once more (P13).

use super::{
    job::visible,
    job_id,
    jobs::{created, submit, whose},
};
use crate::{
    translate::{Words, once_more},
    wire::Job,
};
use axum::{
    Json,
    extract::State,
    http::{HeaderMap, StatusCode},
};
use muster_http::{Client, HttpState, Identity, PathText, Problem};
use muster_model::{Actor, PoolJobId, PoolJobStatus};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(retry))
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
        return Err(Words::conflict("Job did not fail").into());
    }
    let submission = once_more(&view.job);
    let taken = submit(&http, accountable(&client, id), submission, &headers).await?;
    Ok((StatusCode::CREATED, Json(created(&http, view.job.draft, taken).await?)))
}

/// Whoever may hand in anybody's jobs is remembered for it, with which (I7).
fn accountable(client: &Identity, job: PoolJobId) -> Option<Actor> {
    let actor = whose(client).is_none().then(|| client.actor())?;
    let reason = match &actor.reason {
        Some(reason) => format!("retry of job {job}: {reason}"),
        None => format!("retry of job {job}"),
    };
    Some(Actor { reason: Some(reason.into()), ..actor })
}
