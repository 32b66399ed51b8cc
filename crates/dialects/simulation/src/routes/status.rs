//! All in all (S7).

use super::refuse;
use crate::{simulation::Simulation, translate::show_status, wire::Status};
use axum::{Extension, Json, extract::State, http::HeaderMap};
use muster_door::{Door, Problem, RendererOrOperator};
use muster_model::{FrameQuery, FrameView};
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
    Extension(simulation): Extension<Simulation>,
    headers: HeaderMap,
) -> Result<Json<Status>, Problem> {
    let view = match door.coordinator.frames(FrameQuery::Status).await.map_err(refuse)? {
        FrameView::Status(view) => view,
        other => return Err(Problem::internal(&format_args!("the status was shown as {other:?}"))),
    };
    let mut status = show_status(&view);
    status.epoch = door.coordinator.epoch();
    status.leader = door.base_url(&headers)?;
    status.warnings = simulation.0.warnings.all();
    Ok(Json(status))
}
