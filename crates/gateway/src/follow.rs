//! Gives each request an id and a line in the log, and refuses what cannot be read in one way (P16).

use crate::{head::Flaw, limit::is_probe, problems, screen::Verdict};
use axum::{
    extract::Request,
    http::{HeaderValue, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use muster_coordinator::instant_now;
use muster_http::{Problem, REQUEST_ID, request_id};
use tracing::Instrument;

/// Follows a request from its arrival until its answer begins.
///
/// Neither the query nor any header is logged: both may carry secrets.
pub(crate) async fn follow(mut request: Request, next: Next) -> Response {
    let began = instant_now();
    let id = request_id(request.headers());
    let (method, path) = (request.method().to_string(), request.uri().path().to_owned());
    let span = tracing::info_span!("request", id = id.to_str().unwrap_or_default());
    request.headers_mut().insert(REQUEST_ID, id.clone());

    let mut response = judged(request, next).instrument(span.clone()).await;

    let (status, ms) = (response.status().as_u16(), began.elapsed().as_millis());
    span.in_scope(|| {
        if is_probe(&path) {
            // They come every few seconds and say nothing.
            tracing::debug!(method, path, status, ms, "answered");
        } else {
            tracing::info!(method, path, status, ms, "answered");
        }
    });
    response.headers_mut().insert(REQUEST_ID, id);
    guard(&mut response);
    response
}

/// Has the gateway's own refusals be neither kept nor taken for something else. What was passed on is the coordinator's.
fn guard(response: &mut Response) {
    if response.extensions().get::<Problem>().is_some() {
        let headers = response.headers_mut();
        headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
}

/// Lets a request through if its head was found to have one meaning.
async fn judged(request: Request, next: Next) -> Response {
    match request.extensions().get().map_or(Err(Flaw::Unclear), |verdict: &Verdict| verdict.0) {
        Ok(()) => next.run(request).await,
        Err(flaw) => problems::flawed(flaw).into_response(),
    }
}
