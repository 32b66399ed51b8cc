//! Sessions: submit, list, steer (S26).

use super::{order, refuse, session_id, trouble};
use crate::{output::SessionFiles, simulation::Simulation};
use axum::{Extension, Json, extract::State, http::StatusCode};
use muster_contract_simulation::{Session, SessionList, SessionRequest, SessionStatusWord, read_session};
use muster_http::{HttpState, JsonBytes, Operator, Params, PathText, Problem};
use muster_model::{SessionId, SessionStatus, SessionSubmission, Steering, ask::frames::Steer};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(submit, list))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(cancel))
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
    Ok((status, session(&http, id).await?))
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
    let page = params.cursor()?;
    let read = http.coordinator.read(move |store| store.sessions(status, &page)).await;
    let Page { items, next } = read.map_err(refuse)?;
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

async fn steer(
    http: &HttpState,
    operator: &Operator,
    PathText(id): &PathText,
    to: Steering,
) -> Result<Json<Session>, Problem> {
    let id = session_id(id)?;
    order(http, operator, Steer { session: id.clone(), to }).await?;
    session(http, id).await
}

/// Takes the directory of a session that is new; that of one that is known was taken with it.
async fn claim_directory(
    http: &HttpState,
    simulation: &Simulation,
    submission: &SessionSubmission,
) -> Result<(), Problem> {
    let id = submission.session.clone();
    if http.coordinator.read(move |store| store.session(&id)).await.map_err(refuse)?.is_some() {
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

/// A session as it stands now.
pub(super) async fn session(http: &HttpState, id: SessionId) -> Result<Json<Session>, Problem> {
    let record = http.coordinator.read(move |store| store.session(&id)).await.map_err(refuse)?;
    record
        .map(|record| Json(Session::from(record)))
        .ok_or_else(|| Problem::not_found("there is no such session"))
}
