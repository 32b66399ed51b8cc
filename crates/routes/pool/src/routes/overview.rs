//! All workers of the pool, whosever they are, for those who run the place (I7).

use super::{query::Query, refuse, workers::show};
use crate::wire::WorkerList;
use axum::{Json, extract::State};
use muster_http::{HttpState, Operator, Params, Problem};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(list))
}

/// Lists all workers of the pool, by id.
#[utoipa::path(
    get, path = "/api/pool/workers", operation_id = "list_pool_workers", tag = "pool workers",
    security(("operator" = [])),
    params(
        ("limit" = Option<i64>, Query, description = "At most so many; 100 without it", minimum = 1, maximum = 1000),
        ("after" = Option<String>, Query, description = "What the page before gave as next"),
    ),
    responses(
        (status = 200, description = "A page of workers", body = WorkerList),
        (status = 422, description = "A parameter has a value it cannot have"),
    )
)]
async fn list(
    _: Operator,
    State(http): State<HttpState>,
    params: Params,
) -> Result<Json<WorkerList>, Problem> {
    let page = Query::of(&params, &["limit", "after"])?.cursor()?;
    let page = http.coordinator.read(move |reader| reader.pool_workers(None, &page)).await.map_err(refuse)?;
    let workers = page.items.into_iter().map(|worker| show(&http, worker)).collect();
    Ok(Json(WorkerList { workers, next: page.next }))
}
