//! Tells service managers and scrapers how the server is.

use crate::{Door, Operator, Problem};
use axum::{
    extract::{FromRequestParts, State},
    http::{header, request::Parts},
    response::IntoResponse,
};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

/// Says that the process lives.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, description = "The process lives", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Says whether the server can do its work.
#[utoipa::path(get, path = "/readyz", tag = "server", responses(
    (status = 200, description = "It leads and its store is reachable", body = String),
    (status = 503, description = "Not ready: starting, restarting or stopping"),
))]
async fn readyz(State(door): State<Door>) -> Result<&'static str, Problem> {
    let is_ready = !door.is_closing() && door.coordinator.is_ready();
    if is_ready { Ok("ready\n") } else { Err(Problem::busy("not ready: starting, restarting or stopping")) }
}

/// Counts of what happened, in OpenMetrics text.
#[utoipa::path(get, path = "/metrics", tag = "server", security((), ("operator" = [])), responses(
    (status = 200, description = "The counts", body = String, content_type = "application/openmetrics-text"),
    (status = 401, description = "A token is needed unless server.public_metrics is set"),
))]
async fn metrics(_: Scraper, State(door): State<Door>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")],
        door.metrics.gathered_text().await,
    )
}

/// Somebody who may read the counts (I7).
struct Scraper;

impl FromRequestParts<Door> for Scraper {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        if !door.settings.public_metrics {
            Operator::from_request_parts(parts, door).await?;
        }
        Ok(Self)
    }
}
