//! One session with everything about it (S26, S4).

use super::{refuse, session_id};
use axum::{Json, extract::State};
use muster_contract_simulation::{
    CompletedRange, CoverageMap, CoverageMapBuilder, Diagnostic, DiagnosticList, JsonText, Replay, Session,
    SessionDetail, SessionTask, TaskList, eta_seconds, frames_a_second, read_parts,
};
use muster_http::{HttpState, Operator, Params, PathText, Problem};
use muster_model::{
    FrameQuery, FrameTaskStatus, FrameView, SessionId, SessionRecord, SessionStatus, SessionView,
};
use muster_store::{Cursor, DiagnosticFilter, Page, Reader, StoreError};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(show)).routes(routes!(tasks)).routes(routes!(diagnostics))
}

/// Shows a session: which frames stand where, what was made anew, how fast it goes.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}", operation_id = "show_session", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The session")),
    responses(
        (status = 200, description = "The session", body = SessionDetail),
        (status = 404, description = "There is no such session"),
    )
)]
async fn show(
    _: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
) -> Result<Json<SessionDetail>, Problem> {
    let id = session_id(&id)?;
    // Memory first: what ends in between is then told by the store, which is never behind what was told.
    let view = view(&http, &id).await?;
    let shown = http.coordinator.read(move |store| detail(store, &id, view)).await.map_err(refuse)?;
    shown.map(Json).ok_or_else(|| Problem::not_found("there is no such session"))
}

/// Lists the ranges of a session that were cut, by first frame.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/tasks", operation_id = "list_session_tasks", tag = "simulation",
    security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The session"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Tasks per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of tasks", body = TaskList),
        (status = 404, description = "There is no such session"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn tasks(
    _: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<TaskList>, Problem> {
    params.only(&["after", "limit"])?;
    let (id, page) = (session_id(&id)?, params.cursor()?);
    let Page { items, next } = of_session(&http, id, move |store, id| store.frame_tasks(id, &page)).await?;
    Ok(Json(TaskList { tasks: items.into_iter().map(SessionTask::from).collect(), next }))
}

/// Lists what happened to a session's ranges and workers, and what workers said, newest first.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/diagnostics", operation_id = "list_session_diagnostics", tag = "simulation",
    security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The session"),
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Lines per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of lines", body = DiagnosticList),
        (status = 404, description = "There is no such session"),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn diagnostics(
    _: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
    params: Params,
) -> Result<Json<DiagnosticList>, Problem> {
    params.only(&["after", "limit"])?;
    let (id, page) = (session_id(&id)?, params.cursor()?);
    let lines = of_session(&http, id, move |store, id| {
        let filter = DiagnosticFilter { session: Some(id.clone()), worker: None };
        store.diagnostics(&filter, &page)
    });
    let Page { items, next } = lines.await?;
    Ok(Json(DiagnosticList { diagnostics: items.into_iter().map(Diagnostic::from).collect(), next }))
}

/// What memory knows of a session; `None` when it is not open.
pub(super) async fn view(http: &HttpState, id: &SessionId) -> Result<Option<SessionView>, Problem> {
    match http.coordinator.frames(FrameQuery::Session(id.clone())).await.map_err(refuse)? {
        FrameView::Session(view) => Ok(view),
        other => Err(Problem::internal(&format_args!("a session was shown as {other:?}"))),
    }
}

/// Reads a list of a session that must be there.
async fn of_session<T: Send + 'static>(
    http: &HttpState,
    id: SessionId,
    read: impl FnOnce(&dyn Reader, &SessionId) -> Result<T, StoreError> + Send + 'static,
) -> Result<T, Problem> {
    let list = move |store: &dyn Reader| match store.session(&id)? {
        Some(_) => read(store, &id).map(Some),
        None => Ok(None),
    };
    let found = http.coordinator.read(list).await.map_err(refuse)?;
    found.ok_or_else(|| Problem::not_found("there is no such session"))
}

fn detail(
    store: &dyn Reader,
    id: &SessionId,
    view: Option<SessionView>,
) -> Result<Option<SessionDetail>, StoreError> {
    let Some(mut record) = store.session(id)? else { return Ok(None) };
    let view = view.filter(|_| !record.status.is_ended());
    let covered = cover(store, &record, view.as_ref())?;
    let (ranges, ranges_complete) = completed_ranges(store, id)?;
    let (scenario, cameras) = read_parts(record.body.as_deref().unwrap_or("{}"));
    let done = view.as_ref().map_or(0, |view| view.completed_frames).max(record.completed_frames);
    record.completed_frames = done;
    let rate = view.as_ref().map_or(0, |view| view.rate);
    let runs = record.status == SessionStatus::Running;
    Ok(Some(SessionDetail {
        merging: view.as_ref().is_some_and(|view| view.merging),
        failed_frames: covered.failed,
        ranges,
        ranges_complete,
        coverage: covered.entries,
        coverage_complete: covered.is_complete,
        replays: replays(store, id)?,
        drops: covered.drops,
        rate: frames_a_second(rate),
        eta_seconds: eta_seconds(record.total_frames.saturating_sub(done), rate).filter(|_| runs),
        scenario,
        cameras: cameras.unwrap_or_else(JsonText::null),
        session: Session::from(record),
    }))
}

fn cover(
    store: &dyn Reader,
    record: &SessionRecord,
    view: Option<&SessionView>,
) -> Result<CoverageMap, StoreError> {
    let mut coverer = CoverageMapBuilder::new(record.total_frames, view);
    let mut page = Cursor { after: None, limit: PAGE };
    for _ in 0..TASK_PAGES_MAX {
        let Page { items, next } = store.frame_tasks(&record.id, &page)?;
        items.iter().for_each(|task| coverer.add(task));
        match next {
            Some(next) => page.after = Some(next),
            None => return Ok(coverer.finish(true)),
        }
    }
    Ok(coverer.finish(false))
}

/// The first completed ranges, and whether they are all. What was submitted with them may be long, so they are read in small
/// pages and only up to some size.
fn completed_ranges(store: &dyn Reader, id: &SessionId) -> Result<(Vec<CompletedRange>, bool), StoreError> {
    let mut page = Cursor { after: None, limit: RANGES_PAGE };
    let (mut ranges, mut bytes) = (Vec::new(), 0);
    loop {
        let Page { items, next } = store.frame_results(id, &page)?;
        for task in items.into_iter().filter(|task| task.status == FrameTaskStatus::Completed) {
            bytes += task.result.as_ref().map_or(0, |result| result.len());
            if ranges.len() == RANGES_MAX || bytes > RANGES_BYTES_MAX {
                return Ok((ranges, false));
            }
            ranges.push(CompletedRange::from(task));
        }
        match next {
            None => return Ok((ranges, true)),
            Some(next) => page.after = Some(next),
        }
    }
}

fn replays(store: &dyn Reader, id: &SessionId) -> Result<Vec<Replay>, StoreError> {
    let mut page = Cursor { after: None, limit: PAGE };
    let mut replays = Vec::new();
    for _ in 0..REPLAY_PAGES_MAX {
        let Page { items, next } = store.replays(id, &page)?;
        replays.extend(items.iter().map(Replay::from));
        match next {
            Some(next) => page.after = Some(next),
            None => break,
        }
    }
    Ok(replays)
}

const PAGE: u32 = 1000;

/// Completed ranges with what was submitted for them: the manifest has all of them.
const RANGES_MAX: usize = 1000;
const RANGES_BYTES_MAX: usize = 256 * 1024;
const RANGES_PAGE: u32 = 100;

/// A session of more tasks than this is shown up to some frame: whoever looks should not wait for seconds.
const TASK_PAGES_MAX: usize = 200;

/// A session with more replays has other problems than a list that breaks off.
const REPLAY_PAGES_MAX: usize = 10;
