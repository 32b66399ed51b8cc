//! Streams the feed to whoever watches (I8).

use crate::{Door, Operator, Params, Problem};
use axum::{
    extract::State,
    http::HeaderMap,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use muster_coordinator::FeedError;
use muster_store::FeedEntry;
use std::{collections::VecDeque, convert::Infallible, time::Duration};
use tokio::sync::OwnedSemaphorePermit;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(events))
}

/// Streams everything that becomes durable, as server-sent events.
///
/// `id` is the number of the entry, `event` its kind, `data` a JSON object. `Last-Event-ID` or `after` goes on from
/// there without a gap; without either the stream begins with what comes next.
#[utoipa::path(get, path = "/api/events", tag = "server", security(("operator" = [])),
    params(
        ("after" = Option<u64>, Query, description = "Go on after this number"),
        ("Last-Event-ID" = Option<u64>, Header, description = "The same; wins over `after`"),
    ),
    responses(
        (status = 200, description = "The stream; an event `gone` ends it when entries were pruned before they were sent", body = String, content_type = "text/event-stream"),
        (status = 410, description = "The entries after that number are no longer kept; load the current state and start without a number"),
        (status = 422, description = "The number is none"),
    )
)]
async fn events(
    _: Operator,
    State(door): State<Door>,
    headers: HeaderMap,
    params: Params,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let permit = door.stream_permit()?;
    let mut watcher = Watcher { seq: 0, pending: VecDeque::new(), over: false, door, _permit: permit };
    watcher.seq = match start(&headers, &params)? {
        Some(seq) => watcher.resume(seq).await?,
        None => watcher.door.coordinator.feed().newest(),
    };
    Ok(Sse::new(stream::unfold(watcher, Watcher::next)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// Where the caller wants to go on.
fn start(headers: &HeaderMap, params: &Params) -> Result<Option<u64>, Problem> {
    let header = headers.get("last-event-id").filter(|value| !value.is_empty());
    let (field, text) = match header {
        Some(value) => ("Last-Event-ID", value.to_str().unwrap_or_default()),
        None => match params.opt_text("after") {
            Some(text) => ("after", text),
            None => return Ok(None),
        },
    };
    text.parse().map(Some).map_err(|_| Problem::unprocessable(field, "must be the number of an event"))
}

/// One subscriber and how far it is.
struct Watcher {
    seq: u64,
    pending: VecDeque<FeedEntry>,
    over: bool,
    door: Door,
    _permit: OwnedSemaphorePermit,
}

impl Watcher {
    /// Finds out, while a status can still be given, whether the feed goes on from `seq`.
    async fn resume(&mut self, seq: u64) -> Result<u64, Problem> {
        let newest = self.door.coordinator.feed().newest();
        if seq > newest {
            return Err(Problem::gone(format!("there is no event {seq} yet; the newest is {newest}")));
        }
        if seq < newest {
            let entries = self.door.coordinator.feed().after(seq).await.map_err(|error| refusal(&error))?;
            self.pending.extend(entries);
        }
        Ok(seq)
    }

    /// The next event of the stream, as `unfold` wants it.
    async fn next(mut self) -> Option<(Result<Event, Infallible>, Self)> {
        if self.over {
            return None;
        }
        while self.pending.is_empty() {
            let entries = tokio::select! {
                entries = self.door.coordinator.feed().after(self.seq) => entries,
                () = self.door.closed() => return None,
            };
            match entries {
                Ok(entries) => self.pending.extend(entries),
                Err(FeedError::Gone { oldest }) => {
                    self.over = true;
                    return Some((Ok(gone(oldest)), self));
                }
                // The client comes back with its last number, so nothing is lost by ending here.
                Err(FeedError::Store(_) | FeedError::Closed) => return None,
            }
        }
        let entry = self.pending.pop_front()?;
        self.seq = entry.seq;
        let event = Event::default().id(entry.seq.to_string()).event(entry.kind).data(entry.body);
        Some((Ok(event), self))
    }
}

fn gone(oldest: u64) -> Event {
    Event::default().event("gone").data(format!("{{\"oldest\":{oldest}}}"))
}

fn refusal(error: &FeedError) -> Problem {
    match error {
        FeedError::Gone { oldest } => {
            Problem::gone(format!("the oldest event still kept is {oldest}")).with("oldest", *oldest)
        }
        FeedError::Store(error) => {
            tracing::error!(%error, "the feed could not be read");
            Problem::busy("the feed cannot be read at the moment")
        }
        FeedError::Closed => Problem::busy("the server is stopping"),
    }
}

/// Shorter than the patience of common proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;
    use axum::extract::FromRequestParts;

    async fn from(query: &str, last_event_id: Option<&str>) -> Result<Option<u64>, Problem> {
        let request =
            axum::http::Request::get(format!("http://localhost/api/events?{query}")).body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        if let Some(id) = last_event_id {
            parts.headers.insert("last-event-id", id.parse().unwrap());
        }
        let params = Params::from_request_parts(&mut parts, &()).await.unwrap();
        start(&parts.headers, &params)
    }

    /// I8: `Last-Event-ID` resumes, and wins over the address a client keeps using.
    #[tokio::test]
    async fn the_start_is_named_by_header_or_query() {
        assert_eq!(from("", None).await, Ok(None));
        assert_eq!(from("after=7", None).await, Ok(Some(7)));
        assert_eq!(from("after=7", Some("9")).await, Ok(Some(9)));
        assert_eq!(from("after=7", Some("")).await, Ok(Some(7)));
        assert_eq!(from("after=x", None).await.unwrap_err().field(), Some("after"));
        assert_eq!(from("", Some("-1")).await.unwrap_err().status(), 422);
    }

    /// I8: what was pruned is said to be gone.
    #[test]
    fn pruned_entries_are_gone() {
        assert_eq!(refusal(&FeedError::Gone { oldest: 5 }).status(), 410);
        assert_eq!(refusal(&FeedError::Closed).status(), 503);
    }
}
