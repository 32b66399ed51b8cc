//! Sessions: submit, list, steer, and render failed frames again (S26, S26b).

use super::{missing, order, page, refuse, session_id, trouble};
use crate::{output::SessionFiles, simulation::Simulation};
use axum::{Extension, Json, extract::State, http::StatusCode};
use muster_contract_simulation::{
    RetryRequest, Session, SessionList, SessionRequest, SessionStatusWord, read_retry, read_session,
};
use muster_coordinator::Refusal;
use muster_http::{HttpState, JsonBody, JsonBytes, Operator, Params, PathText, Problem};
use muster_model::{
    self as model, ClosedSession, FrameRange, FrameRejection, FrameTaskStatus, Rejection, SessionId,
    SessionRecord, SessionStatus, SessionSubmission, Steering, ask::frames::Steer,
};
use muster_store::{Page, Reader, StoreError, pages};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(submit, list))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(cancel))
        .routes(routes!(retry))
}

/// Takes a new session.
#[utoipa::path(
    post, path = "/api/v1/sessions", operation_id = "submit_session", tag = "simulation",
    security(("operator" = [])),
    request_body = SessionRequest,
    responses(
        (status = 201, description = "The session is taken", body = Session),
        (status = 200, description = "It had been taken before", body = Session),
        (status = 409, description = "The id was used before, for another body"),
    )
)]
async fn submit(
    operator: Operator,
    State(http): State<HttpState>,
    Extension(simulation): Extension<Simulation>,
    JsonBytes { bytes, value }: JsonBytes,
) -> Result<(StatusCode, Json<Session>), Problem> {
    let submission = read_session(&value, &String::from_utf8_lossy(&bytes))?;
    let id = submission.session.clone();
    claim_directory(&http, &simulation, &submission).await?;
    let repeated = order(&http, &operator, submission).await?.repeated;
    if !repeated {
        simulation.0.bodies.forget(&id);
    }
    let status = if repeated { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, shown(&http, id).await?))
}

/// Lists sessions, newest first.
#[utoipa::path(
    get, path = "/api/v1/sessions", operation_id = "list_sessions", tag = "simulation", security(("operator" = [])),
    params(
        ("status" = inline(Option<SessionStatusWord>), Query, description = "Only sessions that stand there"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Sessions per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of sessions", body = SessionList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<SessionList>, Problem> {
    params.only(&["status", "after", "limit"])?;
    let status = params.opt_choice("status", &SessionStatusWord::ALL)?.and_then(SessionStatus::from_word);
    let Page { items, next } = page(&http, &params, move |store, page| store.sessions(status, page)).await?;
    Ok(Json(SessionList { sessions: items.into_iter().map(Session::from).collect(), next }))
}

/// Gives out nothing more of a session for now; what is held may be completed.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/pause", operation_id = "pause_session", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The session is paused", body = Session),
        (status = 404, description = "There is no such session"),
        (status = 409, description = "The session has ended"),
    )
)]
async fn pause(
    operator: Operator,
    State(http): State<HttpState>,
    id: PathText,
) -> Result<Json<Session>, Problem> {
    steer(&http, &operator, &id, Steering::Pause).await
}

/// Goes on with a session.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/resume", operation_id = "resume_session", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The session runs", body = Session),
        (status = 404, description = "There is no such session"),
        (status = 409, description = "The session has ended"),
    )
)]
async fn resume(
    operator: Operator,
    State(http): State<HttpState>,
    id: PathText,
) -> Result<Json<Session>, Problem> {
    steer(&http, &operator, &id, Steering::Resume).await
}

/// Ends a session; what is held of it ends at once.
#[utoipa::path(
    post, path = "/api/v1/sessions/{id}/cancel", operation_id = "cancel_session", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The session is cancelled", body = Session),
        (status = 404, description = "There is no such session"),
        (status = 409, description = "The session has ended"),
    )
)]
async fn cancel(
    operator: Operator,
    State(http): State<HttpState>,
    id: PathText,
) -> Result<Json<Session>, Problem> {
    steer(&http, &operator, &id, Steering::Cancel).await
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
    let frames = read_retry(body.as_ref().map(|JsonBody(body)| body))?;
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
            Ok(_) => return shown(&http, id).await,
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
    for tasks in pages(PAGE_ITEMS, |page| store.frame_tasks(id, page)) {
        for task in tasks? {
            uncut.extend(gap(next, task.id.start));
            next = task.end;
            if task.status != FrameTaskStatus::Completed {
                ranges.push(task);
            }
        }
    }
    uncut.extend(gap(next, record.total_frames));
    Ok(Some(ClosedSession { record, ranges, uncut }))
}

async fn steer(
    http: &HttpState,
    operator: &Operator,
    PathText(id): &PathText,
    to: Steering,
) -> Result<Json<Session>, Problem> {
    let id = session_id(id)?;
    order(http, operator, Steer { session: id.clone(), to }).await?;
    shown(http, id).await
}

/// Takes the directory of a session that is new; that of one that is known was taken with it.
async fn claim_directory(
    http: &HttpState,
    simulation: &Simulation,
    submission: &SessionSubmission,
) -> Result<(), Problem> {
    if find_session(http, &submission.session).await?.is_some() {
        return Ok(());
    }
    let files = SessionFiles {
        session: submission.session.clone(),
        output: submission.output.clone(),
        total_frames: submission.total_frames,
        replays: Vec::new(),
        given_up: Vec::new(),
    };
    let claimed = simulation.on_disk(move |root| root.claim_directory(&files)).await;
    claimed.map_err(|error| trouble(error, "outputDirectory"))
}

/// A session as it is now.
async fn shown(http: &HttpState, id: SessionId) -> Result<Json<Session>, Problem> {
    session_record(http, &id).await.map(|record| Json(Session::from(record)))
}

/// The record of a session that must be there.
pub(super) async fn session_record(http: &HttpState, id: &SessionId) -> Result<SessionRecord, Problem> {
    find_session(http, id).await?.ok_or_else(|| missing("session"))
}

async fn find_session(http: &HttpState, id: &SessionId) -> Result<Option<SessionRecord>, Problem> {
    let id = id.clone();
    http.coordinator.read(move |store| store.session(&id)).await.map_err(refuse)
}

/// Tries to read a session that changes meanwhile.
const TRIES: u32 = 3;
const PAGE_ITEMS: u32 = 1000;
