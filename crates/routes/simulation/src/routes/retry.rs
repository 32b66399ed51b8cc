//! Failed frames are rendered again (S26b).

use super::{refuse, session_id, sessions::session};
use crate::pages::pages;
use axum::{Json, extract::State};
use muster_contract_simulation::{RetryRequest, Session, read_retry};
use muster_coordinator::Refusal;
use muster_http::{HttpState, JsonBody, Operator, PathText, Problem};
use muster_model::{
    self as model, ClosedSession, FrameRange, FrameRejection, FrameTaskStatus, Rejection, SessionId,
};
use muster_store::{Reader, StoreError};
use serde_json::Value;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(retry))
}

/// Renders failed frames again, all of them or those that are named. A session that has ended runs again.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/retry", operation_id = "retry_session", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The session")),
    request_body = Option<RetryRequest>,
    responses(
        (status = 200, description = "The session runs, and its failed frames wait for a worker", body = Session),
        (status = 404, description = "There is no such session"),
        (status = 409, description = "Nothing failed among these frames, or the session was cancelled"),
        (status = 422, description = "`frames` is no list of ranges"),
    )
)]
async fn retry(
    operator: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
    body: Option<JsonBody>,
) -> Result<Json<Session>, Problem> {
    let id = session_id(&id)?;
    let body = body.map_or(Value::Null, |JsonBody(body)| body);
    let frames = if body.is_null() { None } else { read_retry(&body)? };
    let mut tries_left = TRIES;
    loop {
        tries_left -= 1;
        let closed = http.coordinator.read({
            let id = id.clone();
            move |store| read_closed(store, &id)
        });
        let closed = closed.await.map_err(refuse)?;
        let request = model::RetryRequest { session: id.clone(), frames: frames.clone(), closed };
        match http.ask(operator.actor(), request).await {
            Ok(_) => return session(&http, id).await,
            // It ended, or ran again, since it was read.
            Err(Refusal::Rejected(Rejection::Frames(FrameRejection::SessionChanged))) if tries_left > 0 => {}
            Err(refusal) => return Err(refuse(refusal)),
        }
    }
}

/// An ended session with everything of it that is not done; `None` if it has not ended, or is unknown.
fn read_closed(store: &dyn Reader, id: &SessionId) -> Result<Option<ClosedSession>, StoreError> {
    let Some(record) = store.session(id)?.filter(|record| record.status.is_ended()) else { return Ok(None) };
    let (mut ranges, mut uncut, mut next) = (Vec::new(), Vec::new(), 0);
    let gap = |start: u64, end: u64| (start < end).then_some(FrameRange { start, end });
    pages(
        |page| store.frame_tasks(id, page),
        |task| {
            uncut.extend(gap(next, task.id.start));
            next = task.end;
            if task.status != FrameTaskStatus::Completed {
                ranges.push(task);
            }
        },
    )?;
    uncut.extend(gap(next, record.total_frames));
    Ok(Some(ClosedSession { record, ranges, uncut }))
}

/// How often a session is read that changes meanwhile.
const TRIES: u32 = 3;
