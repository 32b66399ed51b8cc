//! The path and query of a request: a signed URL carries its proof there (I7).

use axum::{extract::FromRequestParts, http::request::Parts};
use muster_door::{Door, Params, PathText, Problem};

/// The path and query of a request.
pub(super) struct Address {
    pub(super) path: PathText,
    pub(super) params: Params,
}

impl FromRequestParts<Door> for Address {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, door: &Door) -> Result<Self, Problem> {
        let path = PathText::from_request_parts(parts, door).await?;
        let params = Params::from_request_parts(parts, door).await?;
        Ok(Self { path, params })
    }
}
