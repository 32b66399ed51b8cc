//! `GET /api/v1/status`: the state of the whole installation (S7).

use super::refuse;
use axum::{Json, extract::State};
use muster_contract_simulation::{Status, Warning};
use muster_http::{HttpState, Problem, RendererOrOperator};
use muster_model::{FrameQuery, FrameView, Millis};
use muster_store::Cursor;
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

const ALERTS_MAX: u32 = 1000;
const DAY: Millis = Millis::from_secs(86_400);
