//! Streams the feed to whoever watches (I8).

use crate::{
    HttpState, KEEP_ALIVE, Operator, Problem, Resume, Subscription,
    subscription::{Told, event_of, gone_event},
};
use axum::{
    extract::State,
    response::sse::{Event, KeepAlive, Sse},
};
use futures_util::{Stream, stream};
use std::convert::Infallible;
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
        Told::Entry(entry) => Some((Ok(event_of(entry)), Some(subscription))),
        Told::Gone(oldest) => Some((Ok(gone_event(oldest)), None)),
        Told::Over => None,
    }
}
