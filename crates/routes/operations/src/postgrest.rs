//! Makes every refusal under /rest/v1 one that PostgREST's clients understand (Q14).

use axum::{
    Router,
    extract::Request,
    http::header,
    middleware::{Next, from_fn},
    response::{IntoResponse, Response},
};
use muster_contract_operations::as_postgrest;
use muster_http::Problem;

/// Wraps the whole server, because what refuses may stand before any route: the guard, the limits, a path or a
/// method that does not exist.
pub fn speak_postgrest(router: Router) -> Router {
    router.layer(from_fn(add_members))
}

async fn add_members(request: Request, next: Next) -> Response {
    let concerned = request.uri().path().starts_with("/rest/v1/");
    let mut response = next.run(request).await;
    let problem = response.extensions_mut().remove::<Problem>().filter(|_| concerned);
    match problem {
        Some(problem) => reword(&response, problem),
        None => response,
    }
}

/// The same refusal with PostgREST's members; its headers stay.
fn reword(response: &Response, problem: Problem) -> Response {
    let mut reworded = as_postgrest(problem).into_response();
    for (name, value) in response.headers() {
        if name != header::CONTENT_LENGTH {
            reworded.headers_mut().insert(name, value.clone());
        }
    }
    reworded
}
