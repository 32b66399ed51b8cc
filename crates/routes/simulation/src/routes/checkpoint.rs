//! Everything in one document (S20).

use super::refuse;
use crate::simulation::Simulation;
use axum::{Extension, http::header, response::IntoResponse};
use muster_http::{HttpState, Operator, Problem};
use muster_model::Role;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(checkpoint))
}

/// Shows everything this contract knows, with its hash.
///
/// `{"checkpoint": {"distributed": {…}}, "sha256": "…"}` in canonical JSON; the hash is that of `checkpoint`. It holds
/// hashes of tokens, never tokens.
#[utoipa::path(
    get, path = "/api/v1/checkpoint", operation_id = "checkpoint", tag = "simulation", security(("operator" = [])),
    responses((status = 200, description = "The checkpoint", body = Object, content_type = "application/json"))
)]
async fn checkpoint(
    operator: Operator,
    Extension(simulation): Extension<Simulation>,
) -> Result<impl IntoResponse, Problem> {
    // With the hash of a worker's token pushes to it can be signed: nothing for who only looks on.
    operator.demand(Role::Operator)?;
    let document = simulation.checkpoint().await.map_err(refuse)?;
    Ok(([(header::CONTENT_TYPE, "application/json")], document))
}
