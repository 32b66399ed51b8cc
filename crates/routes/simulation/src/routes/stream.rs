//! What happens in a session, as it happens (S26).

use super::{refuse, session_detail::view, session_id};
use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use muster_contract_simulation::{Tick, eta_seconds, frames_a_second};
use muster_http::{
    HttpState, KEEP_ALIVE, Operator, PathText, Problem, Resume, Subscription, Told, event_of, gone_event,
};
use muster_model::{SessionId, SessionRecord, SessionStatus};
use serde::Deserialize;
use std::{convert::Infallible, time::Duration};
use tokio::time::{Interval, MissedTickBehavior};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(stream_session))
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
    let total = record(&http, &session).await?.total_frames;
    let subscription = Subscription::open(http.clone(), resume).await?;
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let watcher = Watcher { http, session, total, subscription, ticks: Some(ticks) };
    Ok(Sse::new(stream::unfold(Some(watcher), next)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Somebody who watches a session.
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
                return Some((Ok(event_of(entry)), Some(watcher)));
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
    /// How far the session is now; nothing where that cannot be told, which ends the stream.
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
        let record = record(&self.http, &self.session).await.ok()?;
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

/// How far a session is at a moment.
struct Now {
    status: SessionStatus,
    done: u64,
    live: usize,
    rate: u64,
}

async fn record(http: &HttpState, session: &SessionId) -> Result<SessionRecord, Problem> {
    let id = session.clone();
    let record = http.coordinator.read(move |store| store.session(&id)).await.map_err(refuse)?;
    record.ok_or_else(|| Problem::not_found("there is no such session"))
}

/// Often enough for people, seldom enough for a server that many watch.
const TICK: Duration = Duration::from_secs(2);

/// Whether an entry of the feed is about a session: it names the session, or a task of it.
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
