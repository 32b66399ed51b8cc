//! What operators do to nodes: drain, resume, give a secret (Q15).

use super::{OperatorCall, pcs};
use axum::Json;
use muster_contract_operations::{NewSecret, Pc};
use muster_http::{HttpState, PathText, Problem};
use muster_model::ask::devices;
use sha2::{Digest, Sha256};
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(drain)).routes(routes!(resume)).routes(routes!(rotate_secret))
}

/// Gives a node no more work; what it has, it ends.
#[utoipa::path(
    post, path = "/api/nodes/{id}/drain", operation_id = "drain_node", tag = "nodes", security(("operator" = [])),
    params(("id" = String, Path, description = "The node")),
    responses(
        (status = 200, description = "The node is draining", body = Pc),
        (status = 404, description = "There is no such node"),
    )
)]
async fn drain(call: OperatorCall, id: PathText) -> Result<Json<Pc>, Problem> {
    let worker = id.name("node")?;
    call.ask(devices::Drain { worker: worker.clone() }).await?;
    pcs::pc(&call, worker).await
}

/// Gives a drained node work again.
#[utoipa::path(
    post, path = "/api/nodes/{id}/resume", operation_id = "resume_node", tag = "nodes", security(("operator" = [])),
    params(("id" = String, Path, description = "The node")),
    responses(
        (status = 200, description = "The node gets work", body = Pc),
        (status = 404, description = "There is no such node"),
    )
)]
async fn resume(call: OperatorCall, id: PathText) -> Result<Json<Pc>, Problem> {
    let worker = id.name("node")?;
    call.ask(devices::Resume { worker: worker.clone() }).await?;
    pcs::pc(&call, worker).await
}

/// Gives a node a new secret of its own, shown this once.
#[utoipa::path(
    post, path = "/api/nodes/{id}/secret", operation_id = "rotate_secret", tag = "nodes", security(("operator" = [])),
    params(("id" = String, Path, description = "The node")),
    responses(
        (status = 200, description = "The new secret", body = NewSecret),
        (status = 404, description = "There is no such node"),
    )
)]
async fn rotate_secret(call: OperatorCall, id: PathText) -> Result<Json<NewSecret>, Problem> {
    let worker = id.name("node")?;
    let secret = call.coordinator.new_secret();
    let hash = Sha256::digest(secret.as_bytes()).into();
    call.ask(devices::RotateSecret { worker: worker.clone(), hash }).await?;
    let old_valid_until = call.coordinator.now() + call.coordinator.settings().secret_overlap;
    Ok(Json(NewSecret { node_id: worker.to_string(), secret, old_valid_until: old_valid_until.0 }))
}
