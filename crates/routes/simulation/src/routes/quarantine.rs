//! Files set apart, and the people who look at them (S15).

use super::{order, refuse};
use axum::{Json, extract::State};
use muster_contract_simulation::{ConfirmRequest, EntryList, QuarantineEntry, read_note};
use muster_http::{HttpState, JsonBody, Operator, Params, PathText, Problem};
use muster_model::{EntryId, QuarantineRecord, ask::frames::Confirm};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list)).routes(routes!(confirm))
}

/// Lists what was set apart, newest first.
#[utoipa::path(
    get, path = "/api/v1/quarantine", operation_id = "list_quarantine", tag = "simulation",
    security(("operator" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Entries per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of entries", body = EntryList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<EntryList>, Problem> {
    params.only(&["after", "limit"])?;
    let page = params.cursor()?;
    let Page { items, next } =
        http.coordinator.read(move |store| store.quarantine(&page)).await.map_err(refuse)?;
    Ok(Json(EntryList { entries: items.into_iter().map(QuarantineEntry::from).collect(), next }))
}

/// Says that a person has looked at an entry.
#[utoipa::path(
    post, path = "/api/v1/quarantine/{id}/confirm", operation_id = "confirm_quarantine", tag = "simulation",
    security(("operator" = [])),
    params(("id" = String, Path, description = "The entry")),
    request_body = ConfirmRequest,
    responses(
        (status = 200, description = "The entry is confirmed", body = QuarantineEntry),
        (status = 404, description = "There is no such entry"),
        (status = 409, description = "Its files are still being moved"),
    )
)]
async fn confirm(
    operator: Operator,
    State(http): State<HttpState>,
    id: PathText,
    JsonBody(body): JsonBody,
) -> Result<Json<QuarantineEntry>, Problem> {
    let note = read_note(&body)?;
    let id: EntryId = id.id("entry of the quarantine")?;
    let record = Box::new(entry(&http, id.clone()).await?);
    order(&http, &operator, Confirm { record, note }).await?;
    entry(&http, id).await.map(|entry| Json(entry.into()))
}

async fn entry(http: &HttpState, id: EntryId) -> Result<QuarantineRecord, Problem> {
    let entry = http.coordinator.read(move |store| store.quarantined(&id)).await.map_err(refuse)?;
    entry.ok_or_else(|| Problem::not_found("there is no such entry of the quarantine"))
}
