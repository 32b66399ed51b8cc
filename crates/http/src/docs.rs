//! Serves the description of the interface and a page to read it by, without asking any other server (I8).

use crate::HttpState;
use axum::{
    Extension,
    body::Bytes,
    http::header,
    response::{Html, IntoResponse},
    routing::get,
};
use std::sync::LazyLock;
use utoipa::openapi::OpenApi;
use utoipa_axum::{router::OpenApiRouter, routes};

/// The routes `/openapi.json` and `/docs`; they need [`describe`] around them.
pub(crate) fn routes() -> OpenApiRouter<HttpState> {
    OpenApiRouter::new()
        .routes(routes!(openapi_json))
        .routes(routes!(docs))
        .route("/docs/start.js", get(|| async { script(Bytes::from_static(START_JS)) }))
        .route("/docs/scalar.js", get(|| async { script(SCALAR_JS.clone()) }))
}

/// Hands the description, complete only once all routers are known, to the route that serves it.
pub(crate) fn describe(openapi: &OpenApi) -> Extension<Description> {
    Extension(Description(Bytes::from(openapi.to_json().expect("the description is plain data"))))
}

/// The description as it is served.
#[derive(Clone)]
pub(crate) struct Description(Bytes);

/// This description.
#[utoipa::path(get, path = "/openapi.json", tag = "server", responses(
    (status = 200, description = "An OpenAPI 3.1 document", content_type = "application/json", body = Object),
))]
async fn openapi_json(Extension(Description(text)): Extension<Description>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], text)
}

/// A page to read this description by.
#[utoipa::path(get, path = "/docs", tag = "server", responses(
    (status = 200, description = "The page", content_type = "text/html", body = String),
))]
async fn docs() -> impl IntoResponse {
    ([(header::CONTENT_SECURITY_POLICY, POLICY)], Html(PAGE))
}

fn script(text: Bytes) -> impl IntoResponse {
    (
        [(header::CONTENT_TYPE, "text/javascript; charset=utf-8"), (header::CACHE_CONTROL, "max-age=3600")],
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
