//! What people should look at (N17).

use super::OperatorCall;
use axum::Json;
use muster_contract_operations::{AlertList, show_alert};
use muster_http::{HttpState, Params, Problem};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list))
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
async fn list(call: OperatorCall, params: Params) -> Result<Json<AlertList>, Problem> {
    params.only(&["after", "limit"])?;
    let page = params.cursor()?;
    let Page { items, next } = call.read(move |store| store.alerts(&page)).await?;
    Ok(Json(AlertList { alerts: items.into_iter().map(show_alert).collect(), next }))
}
