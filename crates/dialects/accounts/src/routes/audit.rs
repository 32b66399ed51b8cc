//! What privileged people did (I7).

use super::{page, refuse};
use crate::wire::{Act, ActList};
use axum::{Json, extract::State};
use muster_door::{Admin, Door, Params, Problem};
use muster_store::Page;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<Door> {
    OpenApiRouter::default().routes(routes!(list))
}

/// Lists privileged acts, newest first.
#[utoipa::path(
    get, path = "/audit", operation_id = "list_audit", tag = "accounts", security(("user" = [])),
    params(
        ("after" = Option<String>, Query, description = "`next` of the page before"),
        ("limit" = Option<u32>, Query, description = "Acts per page", minimum = 1, maximum = 1000),
    ),
    responses(
        (status = 200, description = "A page of acts", body = ActList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(_: Admin, State(door): State<Door>, params: Params) -> Result<Json<ActList>, Problem> {
    let page = page(&params)?;
    let Page { items, next } =
        door.coordinator.read(move |store| store.audit(&page)).await.map_err(refuse)?;
    Ok(Json(ActList { acts: items.into_iter().map(Act::from).collect(), next }))
}
