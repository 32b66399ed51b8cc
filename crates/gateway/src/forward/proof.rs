//! Proves to other servers that this one is of their installation (S18).

use super::Forwarder;
use axum::{Extension, extract::Query};
use muster_http::{HttpState, Problem};
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

/// The route where a server proves to others that it is one of theirs. It must not be passed on, and is not.
pub fn proof_routes(forwarder: Forwarder) -> OpenApiRouter<HttpState> {
    OpenApiRouter::default().routes(routes!(prove)).layer(Extension(forwarder))
}

/// What is to be proven.
#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
#[serde(deny_unknown_fields)]
struct Challenge {
    /// What the one who asks made up: 16 to 64 letters, digits, `-` and `_`.
    #[param(min_length = 16, max_length = 64, pattern = "^[A-Za-z0-9_-]+$")]
    nonce: String,
    /// The term that it thinks the server leads in.
    epoch: u64,
}

/// Proves that this server belongs to an installation, to others of it: nobody else can check it, and it says nothing else.
#[utoipa::path(get, path = "/leader-proof", tag = "server", params(Challenge), responses(
    (status = 200, description = "HMAC-SHA256 of the nonce, the epoch and the address by which this server goes, in base64url",
        body = String),
    (status = 400, description = "No such nonce"),
))]
async fn prove(
    Extension(forwarder): Extension<Forwarder>,
    challenge: Result<Query<Challenge>, axum::extract::rejection::QueryRejection>,
) -> Result<String, Problem> {
    let Query(Challenge { nonce, epoch }) =
        challenge.map_err(|_| Problem::bad_request("nonce and epoch must be given, once each"))?;
    let is_harmless = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if !(16..=64).contains(&nonce.len()) || !nonce.bytes().all(is_harmless) {
        return Err(Problem::bad_request("nonce must have 16 to 64 letters, digits, - and _"));
    }
    Ok(forwarder.0.seal.prove(&[&nonce, &epoch.to_string(), &forwarder.0.address]))
}
