//! The feed as server-sent events, and the subscription of one client (I8).

use crate::{HttpState, Operator, Params, Problem};
use axum::{
    extract::{FromRequestParts, State},
    http::{HeaderMap, request::Parts},
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use muster_coordinator::FeedError;
use muster_store::FeedEntry;
use std::{collections::VecDeque, convert::Infallible, sync::Arc, time::Duration};
use tokio::sync::OwnedSemaphorePermit;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn routes() -> OpenApiRouter<HttpState> {
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
    State(http): State<HttpState>,
    resume: Resume,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let subscription = Subscription::open(http, resume).await?;
    Ok(Sse::new(stream::unfold(Some(subscription), next)).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

/// The next event of the stream, as `unfold` wants it.
async fn next(
    subscription: Option<Subscription>,
) -> Option<(Result<Event, Infallible>, Option<Subscription>)> {
    let mut subscription = subscription?;
    match subscription.next().await {
        Told::Entry(entry) => Some((Ok(event_of(&entry)), Some(subscription))),
        Told::Gone(oldest) => Some((Ok(gone_event(oldest)), None)),
        Told::Over => None,
    }
}

/// One subscriber and how far it is.
pub struct Subscription {
    seq: u64,
    pending: VecDeque<Arc<FeedEntry>>,
    http: HttpState,
    _permit: OwnedSemaphorePermit,
}

/// Start of a subscription: after `Last-Event-ID`, else after the parameter `after`, else with what comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resume(Option<u64>);

/// Next step of a subscription.
#[derive(Debug)]
pub enum Told {
    /// The next entry.
    Entry(Arc<FeedEntry>),
    /// Entries were pruned before they were told: the oldest that is left. The subscription is over.
    Gone(u64),
    /// The subscription is over; the client comes back with its last number, so nothing is lost.
    Over,
}

impl Subscription {
    /// Begins where the caller says.
    ///
    /// # Errors
    /// 410 for a number that the feed does not go on from, 503 when too many streams are open.
    pub async fn open(http: HttpState, Resume(start): Resume) -> Result<Self, Problem> {
        let permit = http.stream_permit()?;
        let newest = http.coordinator.feed().newest().map_err(|error| refusal(&error))?;
        let mut opened = Self { seq: newest, pending: VecDeque::new(), http, _permit: permit };
        if let Some(seq) = start {
            opened.resume(seq).await?;
        }
        Ok(opened)
    }

    /// Waits for the next entry. Whoever stops waiting misses nothing.
    pub async fn next(&mut self) -> Told {
        while self.pending.is_empty() {
            let entries = tokio::select! {
                entries = self.http.coordinator.feed().after(self.seq) => entries,
                () = self.http.closed() => return Told::Over,
            };
            match entries {
                Ok(entries) => self.pending.extend(entries),
                Err(FeedError::Gone { oldest }) => return Told::Gone(oldest),
                Err(FeedError::Store(_) | FeedError::Closed) => return Told::Over,
            }
        }
        match self.pending.pop_front() {
            Some(entry) => {
                self.seq = entry.seq;
                Told::Entry(entry)
            }
            None => Told::Over,
        }
    }

    /// Finds out, while a status can still be given, whether the feed goes on from `seq`.
    async fn resume(&mut self, seq: u64) -> Result<(), Problem> {
        let newest = self.seq;
        if seq > newest && !self.http.coordinator.is_ready() {
            // The leader may have newer events.
            return Err(refusal(&FeedError::Closed));
        }
        if seq > newest {
            return Err(Problem::gone(format!("there is no event {seq} yet; the newest is {newest}")));
        }
        if seq < newest {
            let entries = self.http.coordinator.feed().after(seq).await.map_err(|error| refusal(&error))?;
            self.pending.extend(entries);
        }
        self.seq = seq;
        Ok(())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Resume {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let params = Params::from_request_parts(parts, state).await?;
        start(&parts.headers, &params).map(Self)
    }
}

/// An entry as a server-sent event.
pub fn event_of(entry: &FeedEntry) -> Event {
    Event::default().id(entry.seq.to_string()).event(&*entry.kind).data(&*entry.body)
}

/// The event that ends a stream whose entries were pruned before they were sent.
pub fn gone_event(oldest: u64) -> Event {
    Event::default().event("gone").data(format!("{{\"oldest\":{oldest}}}"))
}

/// Reads the start that the caller asks for.
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

fn refusal(error: &FeedError) -> Problem {
    match error {
        FeedError::Gone { oldest } => {
            Problem::gone(format!("the oldest event still kept is {oldest}")).with("oldest", *oldest)
        }
        FeedError::Store(error) => crate::problem_of_store(error),
        FeedError::Closed => Problem::busy("the server is stopping or does not lead"),
    }
}

/// Interval of keep-alives on a silent stream; shorter than the timeouts of common proxies.
pub const KEEP_ALIVE: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    async fn from(query: &str, last_event_id: Option<&str>) -> Result<Option<u64>, Problem> {
        let request =
            axum::http::Request::get(format!("http://localhost/api/events?{query}")).body(()).unwrap();
        let (mut parts, ()) = request.into_parts();
        if let Some(id) = last_event_id {
            parts.headers.insert("last-event-id", id.parse().unwrap());
        }
        Resume::from_request_parts(&mut parts, &()).await.map(|Resume(start)| start)
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
