//! `POST /api/nodes/artifacts`: a node announces an upload and gets the URLs for it; the description of the interface says
//! what settings allow.

use super::{
    ArtifactSettings, Claim, Visit,
    path::{check_lease, read_template, storage_path},
};
use crate::routes::{check_claim, refuse};
use axum::Json;
use muster_artifacts::ContentHash;
use muster_contract_nodes::{Allowed, ArtifactRequest, UploadOffer, claimed_node, read_artifact};
use muster_coordinator::Refusal;
use muster_http::{JsonBody, Node, Problem};
use muster_model::Rejection;
use utoipa::openapi::{Object, OpenApi, RefOr, Schema};

/// Hands out a short-lived URL for one upload, and a link to the file.
///
/// A repeated request gets the same path while the attempt lives, so that an upload can resume after a lost response or a
/// restart.
#[utoipa::path(
    post, path = "/api/nodes/artifacts", operation_id = "announce_artifact", tag = "nodes", security(("node" = [])),
    request_body = ArtifactRequest<'static>,
    responses(
        (status = 200, description = "Where to upload, and where the file is found afterwards", body = UploadOffer),
        (status = 404, description = "No such task"),
        (status = 409, description = "The task is another node's, or the attempt is not the live one"),
    )
)]
pub(super) async fn announce(
    visit: Visit,
    node: Node,
    JsonBody(body): JsonBody,
) -> Result<Json<UploadOffer>, Problem> {
    let Visit { http, artifacts, .. } = &visit;
    check_claim(http, &node, claimed_node(&body).as_ref())?;
    let settings = &artifacts.0.settings;
    let allowed = Allowed { types: &settings.types, size_max: settings.size_max_bytes };
    let order = read_artifact(&body, allowed)?;
    let (template, sha256) = (read_template(&order)?, read_hash(order.sha256.as_deref())?);
    let task = http.coordinator.task(order.task).await.map_err(|refusal| match refusal {
        Refusal::Rejected(Rejection::TaskUnknown) => Problem::not_found("task_id names no task"),
        other => refuse(other),
    })?;
    check_lease(&order, &task)?;
    let payload = http.coordinator.payload(task.id.job).await.map_err(refuse)?;
    let path = storage_path(&order, template, &task, &payload.params)?;
    let claim = Claim { path, size: order.size, content_type: order.content_type, sha256 };
    artifacts.sweep_now_and_then(http.coordinator.now());
    offer(&visit, &claim).map(Json)
}

fn read_hash(digits: Option<&str>) -> Result<Option<ContentHash>, Problem> {
    let hash = digits.map(str::parse).transpose();
    hash.map_err(|_| Problem::unprocessable("sha256", "must be 64 hexadecimal digits"))
}

fn offer(visit: &Visit, claim: &Claim) -> Result<UploadOffer, Problem> {
    let Visit { http, artifacts, headers } = visit;
    let base = http.base_url(headers)?;
    let expires_at = (http.coordinator.now() + artifacts.0.settings.url_ttl).0;
    let signature = artifacts.0.signer.sign(claim, expires_at);
    let Claim { path, size, content_type, sha256 } = claim;
    // Path and hash need no encoding in a URL; of the characters of a media type only `+` does.
    let content_type = content_type.replace('+', "%2B");
    let sha256 = sha256.map(|hash| format!("&sha256={hash}")).unwrap_or_default();
    let query = format!("size={size}&type={content_type}{sha256}&expires={expires_at}&signature={signature}");
    Ok(UploadOffer {
        upload_url: format!("{base}/api/uploads/{path}?{query}"),
        storage_path: path.to_string(),
        public_url: visit.link_to(path)?.public_url,
        expires_at,
    })
}

/// Says which types and sizes a node may announce.
pub(super) fn allow_only(openapi: &mut OpenApi, settings: &ArtifactSettings) {
    let schemas = openapi.components.as_mut().map(|components| &mut components.schemas);
    let request = schemas.and_then(|schemas| schemas.get_mut("ArtifactRequest"));
    let Some(RefOr::T(Schema::Object(request))) = request else {
        return;
    };
    if let Some(content_type) = property(request, "content_type") {
        content_type.enum_values = Some(settings.types.iter().map(|name| name.as_str().into()).collect());
    }
    if let Some(size) = property(request, "size") {
        size.maximum = i64::try_from(settings.size_max_bytes).ok().map(Into::into);
    }
}

fn property<'o>(of: &'o mut Object, name: &str) -> Option<&'o mut Object> {
    match of.properties.get_mut(name) {
        Some(RefOr::T(Schema::Object(property))) => Some(property),
        _ => None,
    }
}
