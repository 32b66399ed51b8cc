//! Makes every refusal under /rest/v1 one that PostgREST's clients understand (Q14).

use axum::{
    extract::Request,
    http::header,
    response::{IntoResponse, Response},
};
use muster_contract_operations::as_postgrest;
use muster_http::{Middleware, Next, Problem};

/// Rewords refusals. It stands outermost, because what refuses may stand before any route: the guard, the limits, a path
/// or a method that does not exist.
#[derive(Clone, Copy, Debug)]
pub struct PostgrestWords;

impl Middleware for PostgrestWords {
    async fn handle(&self, request: Request, next: impl Next) -> Response {
        let concerned = request.uri().path().starts_with("/rest/v1/");
        let mut response = next.run(request).await;
        let problem = response.extensions_mut().remove::<Problem>().filter(|_| concerned);
        match problem {
            Some(problem) => reword(&response, problem),
            None => response,
        }
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
