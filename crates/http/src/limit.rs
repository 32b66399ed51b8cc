//! Keeps requests from piling up: so many at once, so long each (I9).

use crate::{HttpSettings, LEADER_PROOF, Middleware, Next, Problem};
use axum::{
    extract::{FromRequestParts, Request},
    http::request::Parts,
    response::{IntoResponse, Response},
};
use muster_coordinator::instant_now;
use std::{
    pin::Pin,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::Sleep,
};

/// The limits of one server. Turns a request away when too many are under way, and gives it up when it takes too long.
///
/// Probes always come through: a busy server is alive.
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
pub struct Place(Arc<UnderWay>);

struct UnderWay {
    held: Mutex<Option<OwnedSemaphorePermit>>,
    waiting_room: Arc<Semaphore>,
    /// True if the request may take longer than others.
    is_unbounded: AtomicBool,
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
        let permit = Arc::clone(&self.0.waiting_room).try_acquire_owned();
        let permit = permit.map_err(|_full| Problem::busy("too many requests wait for work; try again"))?;
        *self.0.held.lock().unwrap_or_else(PoisonError::into_inner) = Some(permit);
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

/// The time by which a request must be answered, unless its handler lifts it.
#[derive(Clone)]
pub struct Deadline(Place);

impl Deadline {
    /// Lets the request take longer. For handlers that bound their own time and know their caller.
    pub fn lift(&self) {
        self.0.0.is_unbounded.store(true, Ordering::Relaxed);
    }
}

impl<S: Sync> FromRequestParts<S> for Deadline {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        Place::from_request_parts(parts, state).await.map(Self)
    }
}

impl Middleware for Limits {
    async fn handle(&self, mut request: Request, next: impl Next) -> Response {
        let is_probe = matches!(request.uri().path(), "/healthz" | "/readyz" | LEADER_PROOF);
        let permit = Arc::clone(&self.room).try_acquire_owned().ok();
        if permit.is_none() && !is_probe {
            return Problem::busy("too many requests are under way; try again").into_response();
        }
        let under_way = Arc::new(UnderWay {
            held: Mutex::new(permit),
            waiting_room: Arc::clone(&self.waiting_room),
            is_unbounded: AtomicBool::new(false),
        });
        let timer = request.extensions_mut().remove::<RequestTimer>().unwrap_or_default();
        request.extensions_mut().insert(Place(Arc::clone(&under_way)));
        let mut answering = std::pin::pin!(next.run(request));
        let mut sleep = timer.start(self.timeout);
        let response = tokio::select! {
            biased;
            response = &mut answering => Some(response),
            () = &mut sleep => None,
        };
        match response {
            Some(response) => {
                timer.keep(sleep);
                response
            }
            None if under_way.is_unbounded.load(Ordering::Relaxed) => answering.await,
            None => Problem::timed_out().into_response(),
        }
    }
}

/// The timer of a connection, which serves one request after the other. To move a timer that runs costs less than to
/// start one for each request.
#[derive(Clone, Default)]
pub(crate) struct RequestTimer(Arc<Mutex<Option<Pin<Box<Sleep>>>>>);

impl RequestTimer {
    fn start(&self, timeout: Duration) -> Pin<Box<Sleep>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(mut sleep) = kept else {
            return Box::pin(tokio::time::sleep(timeout));
        };
        sleep.as_mut().reset(instant_now() + timeout);
        sleep
    }

    fn keep(&self, sleep: Pin<Box<Sleep>>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(sleep);
    }
}

/// So many may wait for each that may be under way: a waiting request is a connection and a few hundred bytes.
const WAITING_PER_REQUEST: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layered;
    use axum::{Router, body::Body, http::header, routing::get};
    use tower::ServiceExt;

    fn router(requests_max: usize) -> Router {
        let settings = HttpSettings {
            requests_max,
            request_timeout: Duration::from_millis(20),
            ..HttpSettings::default()
        };
        let router = Router::new()
            .route("/slow", get(std::future::pending::<()>))
            .route("/slower", get(slower))
            .route("/wait", get(wait))
            .route("/healthz", get(|| async {}));
        layered(router, Limits::new(&settings))
    }

    async fn wait(place: Place) -> Result<(), Problem> {
        place.wait_apart(Duration::from_secs(1))?;
        std::future::pending().await
    }

    async fn slower(deadline: Deadline) {
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

    /// I9: each request of a connection has its own deadline, though they share a timer.
    #[tokio::test(start_paused = true)]
    async fn requests_share_a_timer_and_not_a_deadline() {
        let (timer, router) = (RequestTimer::default(), router(1));
        let ask = |path: &str| {
            let request = Request::get(path).extension(timer.clone()).body(Body::empty()).unwrap();
            router.clone().oneshot(request)
        };
        for _ in 0..3 {
            assert_eq!(ask("/healthz").await.unwrap().status(), 200);
            tokio::time::advance(Duration::from_millis(15)).await;
        }
        let begun = instant_now();
        assert_eq!(ask("/slow").await.unwrap().status(), 503);
        assert!((19..=22).contains(&begun.elapsed().as_millis()), "{:?}", begun.elapsed());
        assert_eq!(ask("/healthz").await.unwrap().status(), 200);
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
