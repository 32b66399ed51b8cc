//! All in all (S7).

use super::refuse;
use crate::{
    translate::{show_status, show_warning},
    wire::{Status, Warning},
};
use axum::{Json, extract::State, http::HeaderMap};
use muster_door::{Door, Problem, RendererOrOperator};
use muster_model::{FrameQuery, FrameView, Millis};
use muster_store::Cursor;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::default().routes(routes!(status))
}

/// Shows how everything stands.
#[utoipa::path(
    get, path = "/api/v1/status", operation_id = "simulation_status", tag = "simulation",
    security(("operator" = []), ("worker" = []), ("worker_token" = [])),
    responses((status = 200, description = "How everything stands", body = Status))
)]
async fn status(
    _: RendererOrOperator,
    State(door): State<Door>,
    headers: HeaderMap,
) -> Result<Json<Status>, Problem> {
    let view = match door.coordinator.frames(FrameQuery::Status).await.map_err(refuse)? {
        FrameView::Status(view) => view,
        other => return Err(Problem::internal(&format_args!("the status was shown as {other:?}"))),
    };
    let mut status = show_status(&view);
    status.epoch = door.coordinator.epoch();
    status.leader = door.base_url(&headers)?;
    status.warnings = warnings(&door).await?;
    Ok(Json(status))
}

/// The alerts of the last day that are about this contract, newest first.
async fn warnings(door: &Door) -> Result<Vec<Warning>, Problem> {
    let page = Cursor { after: None, limit: ALERTS_MAX };
    let alerts = door.coordinator.read(move |store| store.alerts(&page)).await.map_err(refuse)?;
    let since = door.coordinator.now() - DAY;
    Ok(alerts.items.into_iter().filter(|alert| alert.at >= since).filter_map(show_warning).collect())
}

const ALERTS_MAX: u32 = 1000;
const DAY: Millis = Millis::from_secs(86_400);
