//! The path and query of a request: a signed URL carries its proof there (I7).

use axum::{extract::FromRequestParts, http::request::Parts};
use muster_http::{HttpState, Params, PathText, Problem};

/// The path and query of a request.
pub(super) struct Address {
    pub(super) path: PathText,
    pub(super) params: Params,
}

impl FromRequestParts<HttpState> for Address {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &HttpState) -> Result<Self, Problem> {
        let path = PathText::from_request_parts(parts, http).await?;
        let params = Params::from_request_parts(parts, http).await?;
        Ok(Self { path, params })
    }
}
