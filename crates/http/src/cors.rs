//! Tells browsers that the pages of listed origins may call us (I7).

use crate::{EPOCH, REASON, REQUEST_ID};
use axum::http::{HeaderName, HeaderValue, Method, header};
use std::time::Duration;
use tower_http::cors::CorsLayer;

/// The answers to what a browser asks before a page elsewhere may call; `None` where no page elsewhere may.
///
/// Only the guard refuses. This merely says so in the words browsers know, and no cookie is ever involved.
pub(crate) fn layer(origins: &[String]) -> Option<CorsLayer> {
    let origins: Vec<HeaderValue> = origins.iter().filter_map(|origin| origin.parse().ok()).collect();
    if origins.is_empty() {
        return None;
    }
    let cors = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE])
        .allow_headers(
            [header::AUTHORIZATION, header::CONTENT_TYPE].into_iter().chain(OWN_HEADERS).collect::<Vec<_>>(),
        )
        .expose_headers([header::RETRY_AFTER, EPOCH, REQUEST_ID])
        .max_age(Duration::from_mins(10));
    Some(cors)
}

const OWN_HEADERS: [HeaderName; 6] = [
    HeaderName::from_static("apikey"),
    HeaderName::from_static("idempotency-key"),
    HeaderName::from_static("last-event-id"),
    REASON,
    REQUEST_ID,
    HeaderName::from_static("x-worker-token"),
];
