//! Why is this not running (Q16).

use super::{OperatorCall, refuse};
use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use muster_contract_operations::{KindWord, read_subjects};
use muster_coordinator::Refusal;
use muster_explain::{Why, show};
use muster_http::{HttpState, Problem};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
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
    call: OperatorCall,
    path: Result<Path<(String, String)>, PathRejection>,
) -> Result<Json<Why>, Problem> {
    let unknown = || Problem::not_found("there is no such thing to explain");
    let Path((kind, id)) = path.map_err(|_| unknown())?;
    let mut outcome = Err(unknown());
    for subject in read_subjects(&kind, &id) {
        outcome = match call.coordinator.explain(subject).await {
            Ok(explanation) => return Ok(Json(show(&explanation, call.coordinator.now()))),
            // A worker's number may be another worker's name.
            Err(Refusal::Rejected(_)) => Err(unknown()),
            Err(refusal) => return Err(refuse(refusal)),
        };
    }
    outcome
}
