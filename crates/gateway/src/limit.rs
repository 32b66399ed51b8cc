//! The limiter as a layer, for servers that have no gateway before them (P16, I9).

use crate::{Limiter, admission::is_page};
use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
};
use muster_coordinator::instant_now;
use muster_http::{LEADER_PROOF, Peer, Problem, REQUEST_ID, bearer, request_id};
use std::sync::Arc;

/// Puts a limiter before all routes of a router that [`muster_http::listen`] serves.
pub fn limited<S: Clone + Send + Sync + 'static>(router: Router<S>, limiter: Arc<Limiter>) -> Router<S> {
    router.layer(from_fn_with_state(limiter, limit))
}

/// Turns a request away with 429 when its address or its token asks too often. Probes come through, and
/// so does what a page loads: it comes as dozens of requests at once, and costs no more than to turn them away.
pub async fn limit(State(limiter): State<Arc<Limiter>>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if is_probe(path) || is_page(path) {
        return next.run(request).await;
    }
    let id = request_id(request.headers());
    match count(&limiter, &request) {
        Ok(()) => {
            request.headers_mut().insert(REQUEST_ID, id);
            next.run(request).await
        }
        Err(problem) => {
            let mut response = problem.into_response();
            response.headers_mut().insert(REQUEST_ID, id);
            response
        }
    }
}

/// What service managers and other servers ask for; a busy server is alive.
pub(crate) fn is_probe(path: &str) -> bool {
    matches!(path, "/healthz" | "/readyz" | LEADER_PROOF)
}

fn count(limiter: &Limiter, request: &Request) -> Result<(), Problem> {
    let now = instant_now();
    if let Some(Peer(Some(address))) = request.extensions().get() {
        limiter.count_address(*address, now)?;
    }
    if let Some(token) = bearer(request.headers()) {
        limiter.count_key(token, now)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Rates;
    use axum::{
        body::Body,
        http::{HeaderMap, header},
        routing::get,
    };
    use tower::ServiceExt;

    fn router() -> Router {
        let rates = Rates { per_key: 1, per_address: 2, burst: 2 };
        let echo = async |headers: HeaderMap| headers[REQUEST_ID].to_str().unwrap().to_owned();
        let routes = Router::new().route("/jobs", get(echo)).route("/healthz", get(async || ()));
        let routes = routes.route("/ui/app.css", get(async || ()));
        limited(routes, Arc::new(Limiter::new(rates)))
    }

    async fn ask(router: &Router, path: &str, from: &str, token: &str) -> Response {
        let request = Request::get(path).header(header::AUTHORIZATION, format!("Bearer {token}"));
        let request = request.extension(Peer::at(from.parse().unwrap()));
        router.clone().oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    /// P16, I9: too many of one address, or with one token, are 429 with Retry-After; probes come through.
    #[tokio::test(start_paused = true)]
    async fn too_many_are_turned_away() {
        let router = router();
        for (from, token, status) in [
            ("192.0.2.1", "a", 200),
            ("192.0.2.1", "b", 200),
            ("192.0.2.1", "c", 429),
            ("192.0.2.2", "a", 200),
            ("192.0.2.3", "a", 429),
        ] {
            let response = ask(&router, "/jobs", from, token).await;
            assert_eq!(response.status(), status, "{from} {token}");
            if status == 429 {
                assert_eq!(response.headers()[header::RETRY_AFTER], "1");
                assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json");
                assert_eq!(response.headers()[REQUEST_ID].len(), 16);
            }
        }
        for open in ["/healthz", "/ui/app.css"] {
            assert_eq!(ask(&router, open, "192.0.2.1", "a").await.status(), 200, "{open}");
        }
    }

    /// P16: the request that goes on has an id.
    #[tokio::test]
    async fn what_passes_has_an_id() {
        let response = ask(&router(), "/jobs", "192.0.2.1", "a").await;
        let id = axum::body::to_bytes(response.into_body(), 100).await.unwrap();
        assert_eq!(id.len(), 16);
    }
}
