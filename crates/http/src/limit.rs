//! Keeps requests from piling up: so many at once, so long each (I9).

use crate::{HttpSettings, LEADER_PROOF, Problem};
use axum::{
    extract::{FromRequestParts, Request, State},
    http::request::Parts,
    middleware::Next,
    response::{IntoResponse, Response},
};
use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The limits of one server.
#[derive(Clone)]
pub(crate) struct Limits {
    room: Arc<Semaphore>,
    /// For those who wait and cost nothing meanwhile.
    waiting_room: Arc<Semaphore>,
    timeout: Duration,
}

impl Limits {
    pub(crate) fn new(settings: &HttpSettings) -> Self {
        let room = |places: usize| Arc::new(Semaphore::new(places.min(Semaphore::MAX_PERMITS)));
        Self {
            room: room(settings.requests_max),
            waiting_room: room(settings.requests_max.saturating_mul(WAITING_PER_REQUEST)),
            timeout: settings.request_timeout,
        }
    }
}

/// The place that a request takes among those under way.
#[derive(Clone)]
pub struct Place {
    held: Arc<Mutex<Option<OwnedSemaphorePermit>>>,
    waiting_room: Arc<Semaphore>,
}

impl Place {
    /// Goes to wait: a request that may take so long counts from now on among those who wait, and keeps nobody else
    /// from being answered.
    ///
    /// # Errors
    /// 503 when too many wait.
    pub fn wait_apart(&self, wait: Duration) -> Result<(), Problem> {
        if wait.is_zero() {
            return Ok(());
        }
        let permit = Arc::clone(&self.waiting_room).try_acquire_owned();
        let permit = permit.map_err(|_full| Problem::busy("too many requests wait for work; try again"))?;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
        Ok(())
    }
}

impl<S: Sync> FromRequestParts<S> for Place {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        let place = parts.extensions.get::<Self>().cloned();
        place.ok_or_else(|| Problem::internal(&"a request that passed no limit"))
    }
}

/// The time by which a request must be answered, unless its handler lifts it. A handler extracts it as an extension.
#[derive(Clone, Debug, Default)]
pub struct Deadline(Arc<AtomicBool>);

impl Deadline {
    /// Lets the request take longer. For handlers that bound their own time and know their caller.
    pub fn lift(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_lifted(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Turns a request away when too many are under way, and gives it up when it takes too long.
///
/// Probes always come through: a busy server is alive.
pub(crate) async fn limit(State(limits): State<Limits>, mut request: Request, next: Next) -> Response {
    let is_probe = matches!(request.uri().path(), "/healthz" | "/readyz" | LEADER_PROOF);
    let permit = Arc::clone(&limits.room).try_acquire_owned().ok();
    if permit.is_none() && !is_probe {
        return Problem::busy("too many requests are under way; try again").into_response();
    }
    let place = Place { held: Arc::new(Mutex::new(permit)), waiting_room: Arc::clone(&limits.waiting_room) };
    let deadline = Deadline::default();
    request.extensions_mut().insert(deadline.clone());
    request.extensions_mut().insert(place);
    let mut answering = std::pin::pin!(next.run(request));
    match tokio::time::timeout(limits.timeout, &mut answering).await {
        Ok(response) => response,
        Err(_) if deadline.is_lifted() => answering.await,
        Err(_) => Problem::timed_out().into_response(),
    }
}

/// So many may wait for each that may be under way: a waiting request is a connection and a few hundred bytes.
const WAITING_PER_REQUEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use axum::{Extension, Router, body::Body, http::header, middleware::from_fn_with_state, routing::get};
    use tower::ServiceExt;

    fn router(requests_max: usize) -> Router {
        let settings = HttpSettings {
            requests_max,
            request_timeout: Duration::from_millis(20),
            ..HttpSettings::default()
        };
        Router::new()
            .route("/slow", get(std::future::pending::<()>))
            .route("/slower", get(slower))
            .route("/wait", get(wait))
            .route("/healthz", get(|| async {}))
            .layer(from_fn_with_state(Limits::new(&settings), limit))
    }

    async fn wait(place: Place) -> Result<(), Problem> {
        place.wait_apart(Duration::from_secs(1))?;
        std::future::pending().await
    }

    async fn slower(Extension(deadline): Extension<Deadline>) {
        deadline.lift();
        tokio::time::sleep(Duration::from_millis(60)).await;
    }

    async fn response(router: Router, path: &str) -> Response {
        router.oneshot(Request::get(path).body(Body::empty()).unwrap()).await.unwrap()
    }

    /// I9: overload is answered with 503 and Retry-After, never queued; probes come through.
    #[tokio::test]
    async fn overload_is_turned_away() {
        let full = response(router(0), "/slow").await;
        assert_eq!(full.status(), 503);
        assert!(full.headers().contains_key(header::RETRY_AFTER));
        assert_eq!(response(router(0), "/healthz").await.status(), 200);
    }

    /// I9: a request that takes too long is given up with a problem.
    #[tokio::test]
    async fn a_slow_request_is_given_up() {
        let slow = response(router(1), "/slow").await;
        assert_eq!(slow.status(), 503);
        assert_eq!(slow.headers()[header::CONTENT_TYPE], "application/problem+json");
    }

    /// I9: who waits for work keeps nobody from being answered.
    #[tokio::test]
    async fn a_waiting_request_gives_its_place_back() {
        let router = router(1);
        let mut waiting = std::pin::pin!(response(router.clone(), "/wait"));
        tokio::select! {
            biased;
            _ = &mut waiting => panic!("it waits"),
            () = tokio::task::yield_now() => {}
        }
        assert_eq!(response(router, "/slower").await.status(), 200);
    }

    /// N21: a handler that keeps its own time is not given up.
    #[tokio::test]
    async fn a_lifted_deadline_gives_nobody_up() {
        assert_eq!(response(router(1), "/slower").await.status(), 200);
    }
}
