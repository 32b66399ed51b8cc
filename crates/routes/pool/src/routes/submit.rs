//! A worker hands in a result (P7, P8, P9).

use super::{key_of, ready, refuse_result};
use crate::{
    bodies::apart,
    keys::WorkerKeys,
    translate::{judge, read_result, show_taken},
    wire::{SubmitRequest, Submitted},
};
use axum::{Extension, Json, extract::State};
use muster_http::{BodyBytes, HttpState, Owner, Problem};
use muster_model::ask::pool::HandIn;
use std::sync::Arc;
use utoipa_axum::{router::OpenApiRouter, routes};

pub(super) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(submit))
}

/// Takes a result whose signature holds.
///
/// What is checked with the worker's key alone is checked here; the one writer only sees results that are their worker's.
#[utoipa::path(
    post, path = "/jobs/submit", operation_id = "pool_submit", tag = "pool workers",
    security(("user" = [])),
    request_body = SubmitRequest,
    responses(
        (status = 200, description = "The result was taken", body = Submitted),
        (status = 400, description = "Worker public key is not configured, Invalid public key encoding, Invalid public key length, Invalid signature encoding, Invalid signature length, Signature verification failed, Invalid nonce, Output required, or Output hash mismatch"),
        (status = 404, description = "Worker not found, or Assignment not found"),
        (status = 409, description = "Assignment already submitted (with the header Muster-Identical: true where the bodies are the same), Assignment is not in a submittable state, or Concurrent submission conflict"),
    )
)]
async fn submit(
    Owner(owner): Owner,
    State(http): State<HttpState>,
    Extension(keys): Extension<WorkerKeys>,
    BodyBytes(body): BodyBytes,
) -> Result<Json<Submitted>, Problem> {
    let (worker, handed) = apart(body.len(), move || read_result(&body)).await??;
    let public_key = key_of(&http, worker, owner.id).await?;
    let key = keys.read(public_key.as_deref())?;
    let result = Arc::new(judge(handed, &key, public_key.unwrap_or_default())?);
    ready(&http)?;
    let hand_in = HandIn { worker, owner: owner.id, result };
    let taken = http.coordinator.ask(hand_in).await.map_err(refuse_result)?;
    Ok(Json(show_taken(&taken)))
}
