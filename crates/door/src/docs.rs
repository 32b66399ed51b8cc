//! Serves the description of the interface and a page to read it by, without asking any other server (I8).

use crate::Door;
use axum::{
    Router,
    body::Bytes,
    http::header,
    response::{Html, IntoResponse},
    routing::get,
};
use std::sync::LazyLock;
use utoipa::openapi::OpenApi;

/// The routes `/openapi.json` and `/docs`; what they serve is fixed once the routers are put together.
pub(crate) fn routes(openapi: &OpenApi) -> Router<Door> {
    let description = Bytes::from(openapi.to_json().expect("the description is plain data"));
    let description = move || async move { ([(header::CONTENT_TYPE, "application/json")], description) };
    Router::new()
        .route("/openapi.json", get(description))
        .route("/docs", get(page))
        .route(
            "/docs/start.js",
            get(|| async { script(Bytes::from_static(START_JS)) }),
        )
        .route("/docs/scalar.js", get(|| async { script(SCALAR_JS.clone()) }))
}

async fn page() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE))
}

fn script(text: Bytes) -> impl IntoResponse {
    (
        [
            (header::CONTENT_TYPE, "text/javascript; charset=utf-8"),
            (header::CACHE_CONTROL, "max-age=3600"),
        ],
        text,
    )
}

static SCALAR_JS: LazyLock<Bytes> =
    LazyLock::new(|| Bytes::from(scalar_api_reference::get_asset("scalar.js").unwrap_or_default()));

const PAGE: &str = include_str!("docs.html");
const START_JS: &[u8] = include_bytes!("docs.js");

/// Nothing is loaded from, and nothing is sent, elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
                      font-src 'self' data:; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'";
