//! Health, readiness and metrics of the server, and the headers by which servers tell who leads.

use crate::{HttpState, Operator, Problem};
use axum::{
    Extension,
    extract::{FromRequestParts, State},
    http::{HeaderName, header, request::Parts},
    response::IntoResponse,
};
use muster_coordinator::Lead;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new().routes(routes!(healthz)).routes(routes!(readyz)).routes(routes!(metrics))
}

/// Says that the process lives.
#[utoipa::path(get, path = "/healthz", tag = "server", responses((status = 200, description = "The process lives", body = String)))]
async fn healthz() -> &'static str {
    "ok\n"
}

/// Says whether requests can be answered here: this server leads, or knows who does. The second line says which.
#[utoipa::path(get, path = "/readyz", tag = "server", responses(
    (status = 200, description = "It leads and its store is reachable, or it follows a server that leads",
        body = String, example = "ready\nfollowing http://10.0.0.7:7400 epoch 7\n"),
    (status = 503, description = "Not ready: starting, restarting, stopping, nobody leads, or the leader cannot be reached"),
))]
async fn readyz(
    State(http): State<HttpState>,
    unready: Option<Extension<Unready>>,
) -> Result<String, Problem> {
    if http.is_closing() {
        return Err(Problem::busy("not ready: the server is stopping"));
    }
    if let Some(Extension(Unready(why))) = unready {
        return Err(Problem::busy(format!("not ready: {why}")));
    }
    standing(&http.coordinator.lead()).ok_or_else(|| {
        let why = http.coordinator.trouble();
        let why =
            why.unwrap_or_else(|| "starting or restarting, or no server leads at the moment".to_owned());
        Problem::busy(format!("not ready: {why}"))
    })
}

/// The leader, in words; `None` if there is none.
fn standing(lead: &Lead) -> Option<String> {
    match lead {
        Lead::Here { epoch } => Some(format!("ready\nleading epoch {epoch}\n")),
        Lead::There { address, epoch } => Some(format!("ready\nfollowing {address} epoch {epoch}\n")),
        Lead::Nowhere => None,
    }
}

/// Counts of what happened, in OpenMetrics text.
#[utoipa::path(get, path = "/metrics", tag = "server", security((), ("operator" = [])), responses(
    (status = 200, description = "The counts", body = String, content_type = "application/openmetrics-text"),
    (status = 401, description = "A token is needed unless server.public_metrics is set"),
))]
async fn metrics(_: Scraper, State(http): State<HttpState>) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")],
        http.metrics.gathered_text().await,
    )
}

/// Caller that may read the metrics (I7).
struct Scraper;

impl FromRequestParts<HttpState> for Scraper {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        if !http.settings.public_metrics {
            Operator::from_request_parts(parts, http).await?;
        }
        Ok(Self)
    }
}

/// The header by which every answer tells the number of the leader's term.
pub const EPOCH: HeaderName = HeaderName::from_static("muster-epoch");

/// The header that marks a 503: nothing was done, because the server does not lead and found nobody who does.
pub const NOT_LEADING: HeaderName = HeaderName::from_static("muster-not-leading");

/// Path at which a server proves to others that it is one of theirs.
pub const LEADER_PROOF: &str = "/leader-proof";

/// Marks a question whether this server is ready: it is not, for this reason, though it knows who leads.
#[derive(Clone, Debug)]
pub struct Unready(pub String);

#[cfg(test)]
mod tests {
    use super::*;

    /// I8, S18: a server is ready when it leads, or knows who does; the first line is the same for both.
    #[test]
    fn who_follows_is_ready_too() {
        let there = Lead::There { address: "http://10.0.0.7:7400".to_owned(), epoch: 8 };
        assert_eq!(standing(&Lead::Here { epoch: 7 }).unwrap(), "ready\nleading epoch 7\n");
        assert_eq!(standing(&there).unwrap(), "ready\nfollowing http://10.0.0.7:7400 epoch 8\n");
        assert_eq!(standing(&Lead::Nowhere), None);
    }
}
