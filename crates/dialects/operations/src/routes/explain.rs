//! Why is this not running (Q16).

use super::refuse;
use crate::{
    translate::{read_subject, show_why},
    wire::{KindWord, Why},
};
use axum::{
    Json,
    extract::{Path, State, rejection::PathRejection},
};
use muster_door::{Door, Operator, Problem};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::default().routes(routes!(explain))
}

/// Says why something is not running, in one sentence and as data.
#[utoipa::path(
    get, path = "/api/explain/{kind}/{id}", operation_id = "explain", tag = "explain", security(("operator" = [])),
    params(
        ("kind" = inline(KindWord), Path, description = "What sort of thing"),
        ("id" = String, Path, description = "Which one"),
    ),
    responses(
        (status = 200, description = "The rule that holds it back, or that nothing does", body = Why),
        (status = 404, description = "There is no such thing"),
    )
)]
async fn explain(
    State(door): State<Door>,
    _: Operator,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Why>, Problem> {
    let unknown = || Problem::not_found("there is no such thing to explain");
    let Path((kind, id)) = path.map_err(|_| unknown())?;
    let subject = read_subject(&kind, &id).ok_or_else(unknown)?;
    let explanation = door.coordinator.explain(subject).await.map_err(refuse)?;
    Ok(Json(show_why(&explanation, door.coordinator.now())))
}
