//! Answers while the database is not there yet: the server lives, is not ready, and says why (I1, I8).

use axum::{
    Router,
    extract::{Request, State},
    http::HeaderValue,
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse, Response},
    routing::get,
};
use muster_http::{HttpSettings, NOT_LEADING, Problem, REQUEST_ID, check_names, request_id};
use std::{io, sync::Arc};
use tokio::{
    net::TcpListener,
    sync::{oneshot, watch},
};

/// Somebody who answers until this is dropped; whoever comes then finds the server itself.
pub(super) struct Early {
    _stop: oneshot::Sender<()>,
}

/// What is answered, and by which names.
#[derive(Clone)]
struct Known {
    cause: watch::Receiver<String>,
    http: Arc<HttpSettings>,
}

impl Early {
    /// Answers on the same socket as `listener`, which is given back for what comes after.
    pub(super) fn answer(
        listener: TcpListener,
        http: HttpSettings,
        cause: watch::Receiver<String>,
    ) -> io::Result<(Self, TcpListener)> {
        let listener = listener.into_std()?;
        let twin = TcpListener::from_std(listener.try_clone()?)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(Known { cause, http: Arc::new(http) });
        // What is under way there when the store opens may end by itself.
        tokio::spawn(muster_http::listen(twin, router, async { _ = stopped.await }));
        Ok((Self { _stop: stop }, TcpListener::from_std(listener)?))
    }
}

fn router(known: Known) -> Router {
    let (pages, _) = muster_dashboard::pages().split_for_parts();
    let pages = pages.route_layer(from_fn_with_state(known.clone(), named));
    Router::new().route("/healthz", get(alive)).merge(pages).fallback(not_yet).with_state(known)
}

/// The dashboard's page is shown by now, and says itself what it waits for.
async fn named(State(known): State<Known>, request: Request, next: Next) -> Result<Response, Problem> {
    check_names(&known.http, &request)?;
    Ok(next.run(request).await)
}

async fn alive(State(known): State<Known>, request: Request) -> Result<&'static str, Problem> {
    check_names(&known.http, &request)?;
    Ok("ok\n")
}

async fn not_yet(State(known): State<Known>, request: Request) -> Response {
    let id = request_id(request.headers());
    let mut response = match check_names(&known.http, &request) {
        Err(problem) => problem.into_response(),
        Ok(()) => untouched(&known.cause.borrow()),
    };
    response.headers_mut().insert(REQUEST_ID, id);
    response
}

/// Marked, so that whoever passed the request on knows that nothing was done: the database may still say that this server
/// leads, if it was only started again.
fn untouched(cause: &str) -> Response {
    let mut response = Problem::not_leading(format!("not ready: {cause}")).into_response();
    response.headers_mut().insert(NOT_LEADING, HeaderValue::from_static("1"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{
        body::{Body, to_bytes},
        http::Method,
    };
    use tower::ServiceExt;

    /// S18: whatever is asked of a server that starts, it says that nothing was done, and why, in one line; it lives.
    #[tokio::test]
    async fn nothing_is_done_before_the_store_is_open() {
        let (_cause, told) = watch::channel("the database does not answer\nDETAIL: hunter2".to_owned());
        let known = Known { cause: told, http: Arc::default() };
        for (method, path) in [
            (Method::POST, "/jobs"),
            (Method::GET, "/leader-proof?nonce=0123456789abcdef&epoch=7"),
            (Method::GET, "/readyz"),
        ] {
            let request = Request::builder().method(method).uri(path).header("host", "127.0.0.1");
            let answer = not_yet(State(known.clone()), request.body(Body::empty()).unwrap()).await;
            assert_eq!(answer.status(), 503, "{path}");
            assert!(
                answer.headers().contains_key(NOT_LEADING) && answer.headers().contains_key("retry-after")
            );
            let body =
                String::from_utf8(to_bytes(answer.into_body(), 10_000).await.unwrap().to_vec()).unwrap();
            assert!(
                body.contains("not-leading") && body.contains("not ready: the database does not"),
                "{body}"
            );
            assert!(!body.contains("hunter2"), "{body}");
        }
        let request = Request::get("/healthz").header("host", "127.0.0.1").body(Body::empty()).unwrap();
        assert_eq!(alive(State(known), request).await.unwrap(), "ok\n");
    }

    /// I7: the page is there before the store is, by our own names only; nothing else is.
    #[tokio::test]
    async fn the_page_is_there_already() {
        let (_cause, told) = watch::channel("the database does not answer".to_owned());
        let router = router(Known { cause: told, http: Arc::default() });
        for (path, host, status) in [
            ("/", "127.0.0.1", 200),
            ("/ui/index.html", "127.0.0.1", 200),
            ("/", "evil.example", 403),
            ("/api/overview", "127.0.0.1", 503),
        ] {
            let request = Request::get(path).header("host", host).body(Body::empty()).unwrap();
            let answer = router.clone().oneshot(request).await.unwrap();
            assert_eq!(answer.status(), status, "{path} {host}");
        }
    }
}
