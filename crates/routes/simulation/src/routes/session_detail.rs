//! One session with everything about it, and what happens in it as it happens (S4, S26).

use super::{missing, refuse, session_id, sessions::session_record};
use axum::{
    Json,
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use muster_contract_simulation::{
    CompletedRange, CoverageMap, CoverageMapBuilder, Diagnostic, DiagnosticList, JsonText, Replay, Session,
    SessionDetail, SessionTask, TaskList, Tick, eta_seconds, frames_a_second, read_parts,
};
use muster_http::{
    HttpState, KEEP_ALIVE, Operator, Params, PathText, Problem, Resume, Subscription, Told, event_of,
    gone_event,
};
use muster_model::{
    FrameQuery, FrameTaskStatus, FrameView, SessionId, SessionRecord, SessionStatus, SessionView,
};
use muster_store::{DiagnosticFilter, Page, Reader, StoreError, pages};
use serde::Deserialize;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Interval, MissedTickBehavior};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default()
        .routes(routes!(show))
        .routes(routes!(tasks))
        .routes(routes!(diagnostics))
        .routes(routes!(stream_session))
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
    shown.map(Json).ok_or_else(|| missing("session"))
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

/// A session as memory has it; `None` when it is not open.
async fn view(http: &HttpState, id: &SessionId) -> Result<Option<SessionView>, Problem> {
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
    found.ok_or_else(|| missing("session"))
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
    let mut map = CoverageMapBuilder::new(record.total_frames, view);
    let mut all = pages(PAGE, |page| store.frame_tasks(&record.id, page));
    for tasks in all.by_ref().take(TASK_PAGES_MAX) {
        tasks?.iter().for_each(|task| map.add(task));
    }
    Ok(map.finish(all.is_at_end()))
}

/// The first completed ranges, and whether they are all. What was submitted with them may be long, so they are read in small
/// pages and only up to some size.
fn completed_ranges(store: &dyn Reader, id: &SessionId) -> Result<(Vec<CompletedRange>, bool), StoreError> {
    let (mut ranges, mut bytes) = (Vec::new(), 0);
    for tasks in pages(RANGES_PAGE, |page| store.frame_results(id, page)) {
        for task in tasks?.into_iter().filter(|task| task.status == FrameTaskStatus::Completed) {
            bytes += task.result.as_ref().map_or(0, |result| result.len());
            if ranges.len() == RANGES_MAX || bytes > RANGES_BYTES_MAX {
                return Ok((ranges, false));
            }
            ranges.push(CompletedRange::from(task));
        }
    }
    Ok((ranges, true))
}

fn replays(store: &dyn Reader, id: &SessionId) -> Result<Vec<Replay>, StoreError> {
    let mut replays = Vec::new();
    for page in pages(PAGE, |page| store.replays(id, page)).take(REPLAY_PAGES_MAX) {
        replays.extend(page?.iter().map(Replay::from));
    }
    Ok(replays)
}

/// Streams what happens in a session, as server-sent events.
///
/// What carries an `id` is durable and in order: the entries of the event feed that are about this session.
/// `Last-Event-ID` or `after` goes on from there without a gap. Events `tick` carry none: they tell how far the session
/// is now, at once and then every two seconds until it has ended.
#[utoipa::path(
    get, path = "/api/v1/sessions/{id}/stream", operation_id = "stream_session", tag = "simulation",
    security(("operator" = [])),
    params(
        ("id" = String, Path, description = "The session"),
        ("after" = Option<u64>, Query, description = "Go on after this number"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The same; wins over `after`"),
    ),
    responses(
        (status = 200, description = "The stream; an event `gone` ends it when entries were pruned before they were sent", body = String, content_type = "text/event-stream"),
        (status = 404, description = "There is no such session"),
        (status = 410, description = "The entries after that number are no longer kept; load the session and start without a number"),
        (status = 422, description = "The number is none"),
    )
)]
async fn stream_session(
    _: Operator,
    State(http): State<HttpState>,
    PathText(id): PathText,
    resume: Resume,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let session = session_id(&id)?;
    let total = session_record(&http, &session).await?.total_frames;
    let subscription = Subscription::open(http.clone(), resume).await?;
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watcher = Watcher { http, session, total, subscription, ticks: Some(ticks) };
    Ok(Sse::new(stream::unfold(Some(watcher), next)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Client that watches a session.
struct Watcher {
    http: HttpState,
    session: SessionId,
    total: u64,
    subscription: Subscription,
    /// Until the session has ended.
    ticks: Option<Interval>,
}

/// The next event of the stream, as `unfold` wants it.
async fn next(watcher: Option<Watcher>) -> Option<(Result<Event, Infallible>, Option<Watcher>)> {
    let mut watcher = watcher?;
    loop {
        let told = tokio::select! {
            told = watcher.subscription.next() => told,
            () = due(&mut watcher.ticks) => {
                let event = watcher.tick().await?;
                return Some((Ok(event), Some(watcher)));
            }
        };
        match told {
            Told::Entry(entry) if is_about(&entry.body, &watcher.session) => {
                return Some((Ok(event_of(&entry)), Some(watcher)));
            }
            Told::Entry(_) => {}
            Told::Gone(oldest) => return Some((Ok(gone_event(oldest)), None)),
            Told::Over => return None,
        }
    }
}

async fn due(ticks: &mut Option<Interval>) {
    match ticks {
        Some(ticks) => {
            ticks.tick().await;
        }
        None => std::future::pending().await,
    }
}

impl Watcher {
    /// The progress of the session now; `None` where that cannot be told, which ends the stream.
    async fn tick(&mut self) -> Option<Event> {
        let now = match view(&self.http, &self.session).await.ok()? {
            Some(view) => Now {
                status: view.status,
                done: view.completed_frames,
                live: view.tasks.iter().filter(|task| task.worker.is_some()).count(),
                rate: view.rate,
            },
            None => self.end().await?,
        };
        Event::default().event("tick").json_data(self.show(&now)).ok()
    }

    /// A session that memory has let go of has ended.
    async fn end(&mut self) -> Option<Now> {
        self.ticks = None;
        let record = session_record(&self.http, &self.session).await.ok()?;
        Some(Now { status: record.status, done: record.completed_frames, live: 0, rate: 0 })
    }

    fn show(&self, now: &Now) -> Tick {
        let left = self.total.saturating_sub(now.done);
        Tick {
            session_id: self.session.to_string(),
            status: now.status.as_str(),
            total_frames: self.total,
            completed_frames: now.done,
            live_tasks: now.live,
            rate: frames_a_second(now.rate),
            eta_seconds: eta_seconds(left, now.rate).filter(|_| now.status == SessionStatus::Running),
            at: self.http.coordinator.now().0,
        }
    }
}

/// The progress of a session at a moment.
struct Now {
    status: SessionStatus,
    done: u64,
    live: usize,
    rate: u64,
}

/// Returns true if an entry of the feed is about a session: it names the session, or a task of it.
fn is_about(entry: &str, session: &SessionId) -> bool {
    // Most entries are about something else; that is seen without reading them.
    if !entry.contains(session.as_str()) {
        return false;
    }
    let about: About<'_> = serde_json::from_str(entry).unwrap_or_default();
    let of_task = about.task.and_then(|task| task.rsplit_once('.')).map(|(session, _)| session);
    about.session == Some(session.as_str()) || of_task == Some(session.as_str())
}

#[derive(Default, Deserialize)]
struct About<'a> {
    session: Option<&'a str>,
    task: Option<&'a str>,
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

/// Often enough for people, seldom enough for a server that many watch.
const TICK: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    /// S26: the stream of a session has what is about it or one of its tasks, and nothing else.
    #[test]
    fn entries_are_told_apart() {
        let session = SessionId::new("s1").unwrap();
        for own in [r#"{"at":1,"session":"s1"}"#, r#"{"task":"s1.00000100","worker":"w"}"#] {
            assert!(is_about(own, &session), "{own}");
        }
        for other in [
            r#"{"session":"s11"}"#,
            r#"{"task":"s11.00000100"}"#,
            r#"{"worker":"s1"}"#,
            r#"{"task":"s1"}"#,
            r#"{"session":7,"task":["s1"]}"#,
            "s1",
        ] {
            assert!(!is_about(other, &session), "{other}");
        }
    }
}
