//! Alerts, and why something is not running (N17, Q16).

use super::{OperatorCall, refuse};
use axum::{
    Json,
    extract::{Path, rejection::PathRejection},
};
use muster_contract_operations::{AlertList, KindWord, read_subjects, show_alert};
use muster_coordinator::Refusal;
use muster_explain::{Why, show};
use muster_http::{HttpState, Params, Problem};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(explain)).routes(routes!(list_alerts))
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

/// Lists alerts, newest first.
#[utoipa::path(
    get, path = "/api/alerts", operation_id = "list_alerts", tag = "alerts", security(("operator" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Alerts per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of alerts", body = AlertList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list_alerts(call: OperatorCall, params: Params) -> Result<Json<AlertList>, Problem> {
    params.only(&["after", "limit"])?;
    let page = params.cursor()?;
    let Page { items, next } = call.read(move |store| store.alerts(&page)).await?;
    Ok(Json(AlertList { alerts: items.into_iter().map(show_alert).collect(), next }))
}
