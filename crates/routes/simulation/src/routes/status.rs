//! The state of the whole installation: `GET /api/v1/status`, and workers among the counts at `/metrics` (S7).

use super::refuse;
use axum::{Json, extract::State};
use muster_contract_simulation::{Status, Warning};
use muster_coordinator::Coordinator;
use muster_http::{HttpState, Problem, RendererOrOperator};
use muster_model::{FrameQuery, FrameView, Millis, RendererState, StatusView};
use muster_store::Cursor;
use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge},
};
use std::fmt;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(status))
}

/// Shows the state of the whole installation.
#[utoipa::path(
    get, path = "/api/v1/status", operation_id = "simulation_status", tag = "simulation",
    security(("operator" = []), ("worker" = []), ("worker_token" = [])),
    responses((status = 200, description = "The state of the whole installation", body = Status))
)]
async fn status(_: RendererOrOperator, State(http): State<HttpState>) -> Result<Json<Status>, Problem> {
    let view = match http.coordinator.frames(FrameQuery::Status).await.map_err(refuse)? {
        FrameView::Status(view) => view,
        other => return Err(Problem::internal(&format_args!("the status was shown as {other:?}"))),
    };
    let mut status = Status::new(&view);
    status.epoch = http.coordinator.epoch();
    // Never from the header Host: that is the caller's word, and the name of the server that the caller asked.
    let leader = http.coordinator.leader_url();
    status.leader = leader.ok_or_else(|| Problem::busy("no server leads at the moment; try again"))?;
    status.warnings = warnings(&http).await?;
    Ok(Json(status))
}

/// The alerts of the last day that are about this contract, newest first.
async fn warnings(http: &HttpState) -> Result<Vec<Warning>, Problem> {
    let page = Cursor { after: None, limit: ALERTS_MAX };
    let alerts = http.coordinator.read(move |store| store.alerts(&page)).await.map_err(refuse)?;
    let since = http.coordinator.now() - DAY;
    Ok(alerts.items.into_iter().filter(|alert| alert.at >= since).filter_map(Warning::of).collect())
}

/// Has workers by state and their changes of state counted at `/metrics`.
pub(super) fn count(http: &HttpState) {
    let ask = |coordinator: Coordinator| async move {
        match coordinator.frames(FrameQuery::Status).await {
            Ok(FrameView::Status(view)) => Some(view),
            _ => None,
        }
    };
    http.metrics.watch(&http.coordinator, ask, encode);
}

fn encode(view: &StatusView, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let workers = encoder.encode_descriptor("sim_workers", WORKERS, None, MetricType::Gauge)?;
    encode_workers(workers, view)?;
    let moves =
        encoder.encode_descriptor("sim_worker_transitions", TRANSITIONS, None, MetricType::Counter)?;
    encode_transitions(moves, view)
}

/// Every state, also those that nobody is in: a series that comes and goes cannot be watched.
fn encode_workers(mut encoder: MetricEncoder<'_>, view: &StatusView) -> Result<(), fmt::Error> {
    let count =
        |state| view.renderers.iter().find(|(known, _)| *known == state).map_or(0, |(_, count)| *count);
    let states = RendererState::ALL.map(|state| (state.as_str(), count(state)));
    for (state, count) in states.into_iter().chain([("zombie", view.zombies)]) {
        let gauge = ConstGauge::new(i64::try_from(count).unwrap_or(i64::MAX));
        gauge.encode(encoder.encode_family(&[("state", state)])?)?;
    }
    Ok(())
}

fn encode_transitions(mut encoder: MetricEncoder<'_>, view: &StatusView) -> Result<(), fmt::Error> {
    for ((from, to), count) in &view.transitions {
        let labels = [("from", from.as_str()), ("to", to.as_str())];
        ConstCounter::new(*count).encode(encoder.encode_family(&labels)?)?;
    }
    Ok(())
}

const WORKERS: &str = "Simulation workers by state";
const TRANSITIONS: &str = "Changes of simulation workers' states since the term began";
const ALERTS_MAX: u32 = 1000;
const DAY: Millis = Millis::from_secs(86_400);
