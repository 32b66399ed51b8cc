//! The number of the leader's term, as every answer tells it (S18, S19).

use axum::http::HeaderName;

/// The header that carries it.
pub const EPOCH: HeaderName = HeaderName::from_static("muster-epoch");
