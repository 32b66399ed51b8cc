//! Puts the routers together and wraps them in what every request passes.

use crate::{
    EPOCH, HttpSettings, HttpState, Metrics, Middleware, Next, Problem, REASON, REQUEST_ID,
    access::AccessLog, events, guard::NameGuard, health, layered, limit::Limits, openapi,
};
use axum::{
    Router,
    extract::Request,
    http::{HeaderName, HeaderValue, Method, Uri, header},
    response::{IntoResponse, Response},
};
use futures_util::FutureExt;
use std::{any::Any, convert::Infallible, panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tower::{Layer, ServiceExt, service_fn};
use tower_http::cors::CorsLayer;
use utoipa_axum::router::OpenApiRouter;

/// Makes one service of the dialects' routes and the server's own.
pub fn assemble(http: HttpState, dialects: OpenApiRouter<HttpState>) -> Router {
    assemble_behind((), http, dialects)
}

/// Makes one service of the dialects' routes and the server's own, behind some more middleware.
///
/// Outermost first, a request passes: `outer`; its id, log line and count; the guard; what browsers ask for pages of
/// listed origins; the limits; a net for panics; the route, which asks for the token and only then reads the body.
pub fn assemble_behind(
    outer: impl Middleware,
    http: HttpState,
    dialects: OpenApiRouter<HttpState>,
) -> Router {
    let description = openapi::Description::default();
    let (router, mut openapi) = own_routes(&description).merge(dialects).split_for_parts();
    openapi::complete(&mut openapi);
    description.set(&openapi);
    let own = own_middleware(&http.settings, &http.metrics);
    layered(with_fallbacks(router).with_state(http), outer.around(own))
}

/// The routes the HTTP layer itself answers.
pub(crate) fn own_routes(description: &openapi::Description) -> OpenApiRouter<HttpState> {
    health::routes().merge(events::routes()).merge(openapi::docs_routes(description))
}

fn with_fallbacks<S: Clone + Send + Sync + 'static>(router: Router<S>) -> Router<S> {
    router.fallback(not_found).method_not_allowed_fallback(method_not_allowed)
}

fn own_middleware(settings: &Arc<HttpSettings>, metrics: &Arc<Metrics>) -> impl Middleware {
    AccessLog(Arc::clone(metrics))
        .around(NameGuard(Arc::clone(settings)))
        .around(Cors(cors_layer(&settings.origins)))
        .around(Limits::new(settings))
        .around(PanicNet)
}

async fn not_found(uri: Uri) -> Problem {
    Problem::not_found(format!("there is nothing at {}; /docs shows what there is", uri.path()))
}

async fn method_not_allowed(method: Method) -> Problem {
    Problem::method_not_allowed(method.as_str())
}

/// Turns a panic of a route into a response.
struct PanicNet;

impl Middleware for PanicNet {
    async fn handle(&self, request: Request, next: impl Next) -> Response {
        let answered = AssertUnwindSafe(next.run(request)).catch_unwind().await;
        answered.unwrap_or_else(|payload| panicked(&*payload))
    }
}

/// A panic is a broken invariant; its words go to the log and the caller gets a plain 500.
fn panicked(payload: &(dyn Any + Send)) -> Response {
    let words = payload.downcast_ref::<String>().map(String::as_str);
    let words = words.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("a panic without words");
    Problem::internal(&words).into_response()
}

/// Tells browsers which pages elsewhere may call.
///
/// Only the guard refuses. This merely says so in the words browsers know, and no cookie is ever involved.
struct Cors(Option<CorsLayer>);

impl Middleware for Cors {
    async fn handle(&self, request: Request, next: impl Next) -> Response {
        let Some(layer) = &self.0 else {
            return next.run(request).await;
        };
        let mut next = Some(next);
        let rest = service_fn(|request| {
            let next = next.take();
            async {
                match next {
                    Some(next) => Ok::<_, Infallible>(next.run(request).await),
                    None => Ok(Problem::internal(&"a request came twice").into_response()),
                }
            }
        });
        let Ok(response) = layer.layer(rest).oneshot(request).await;
        response
    }
}

/// `None` where no page elsewhere may call.
fn cors_layer(origins: &[String]) -> Option<CorsLayer> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{body::Body, extract::Request, http::header, routing::get};
    use tower::ServiceExt;

    async fn broken() {
        panic!("token=hunter2");
    }

    fn router(metrics: &Arc<Metrics>) -> Router {
        let router =
            Router::new().route("/things/{id}", get(|| async { "fine" })).route("/broken", get(broken));
        behind(router, HttpSettings::default(), metrics)
    }

    fn behind(router: Router, settings: HttpSettings, metrics: &Arc<Metrics>) -> Router {
        layered(with_fallbacks(router), own_middleware(&Arc::new(settings), metrics))
    }

    async fn answer(method: &str, path: &str) -> (Response, Arc<Metrics>) {
        let metrics = Arc::new(Metrics::new());
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", "localhost")
            .header("x-request-id", "r1");
        let response = router(&metrics).oneshot(request.body(Body::empty()).unwrap()).await.unwrap();
        (response, metrics)
    }

    /// I9: whatever goes wrong, the answer is a problem; and it carries the request's id.
    #[tokio::test]
    async fn every_refusal_is_a_problem() {
        for (method, path, status) in
            [("GET", "/nowhere", 404), ("POST", "/things/1", 405), ("GET", "/broken", 500)]
        {
            let (response, _) = answer(method, path).await;
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()[header::CONTENT_TYPE], "application/problem+json", "{path}");
            assert_eq!(response.headers()["x-request-id"], "r1");
            let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
            assert!(!String::from_utf8_lossy(&body).contains("hunter2"));
        }
        let (response, _) = answer("POST", "/things/1").await;
        assert_eq!(response.headers()[header::ALLOW], "GET,HEAD");
    }

    /// I8: requests are counted by the template of their route.
    #[tokio::test]
    async fn requests_are_counted_by_template() {
        let (_, metrics) = answer("GET", "/things/42").await;
        assert!(metrics.text().contains("route=\"/things/{id}\",method=\"GET\",status=\"200\""));
        let (_, metrics) = answer("BREW", "/nowhere/42").await;
        assert!(metrics.text().contains("route=\"unmatched\",method=\"OTHER\",status=\"404\""));
    }

    async fn preflight(origin: &str) -> Response {
        let settings =
            HttpSettings { origins: vec!["https://board.example".to_owned()], ..HttpSettings::default() };
        let router = Router::new().route("/things", get(|| async { "fine" }));
        let router = behind(router, settings, &Arc::new(Metrics::new()));
        let request = Request::builder().method("OPTIONS").uri("/things").header("host", "localhost");
        let request = request.header("origin", origin).header("access-control-request-method", "GET");
        router.oneshot(request.body(Body::empty()).unwrap()).await.unwrap()
    }

    /// I7: a page of a listed origin is let in, in the words browsers know; any other is refused.
    #[tokio::test]
    async fn a_listed_page_may_call() {
        let listed = preflight("https://board.example").await;
        assert_eq!(listed.status(), 200);
        assert_eq!(listed.headers()[header::ACCESS_CONTROL_ALLOW_ORIGIN], "https://board.example");
        let other = preflight("https://evil.example").await;
        assert_eq!(other.status(), 403);
        assert!(!other.headers().contains_key(header::ACCESS_CONTROL_ALLOW_ORIGIN));
    }
}
