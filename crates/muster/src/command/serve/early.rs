//! Answers while the database is not there yet: the server lives, is not ready, and says why (I1, I8).

use axum::{
    Router,
    extract::{Request, State},
    response::{IntoResponse, Response},
    routing::get,
};
use muster_door::{DoorSettings, Problem, REQUEST_ID, check_names, request_id};
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
    door: Arc<DoorSettings>,
}

impl Early {
    /// Answers on the same socket as `listener`, which is given back for what comes after.
    pub(super) fn answer(
        listener: TcpListener,
        door: DoorSettings,
        cause: watch::Receiver<String>,
    ) -> io::Result<(Self, TcpListener)> {
        let listener = listener.into_std()?;
        let twin = TcpListener::from_std(listener.try_clone()?)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(Known { cause, door: Arc::new(door) });
        // What is under way there when the store opens may end by itself.
        tokio::spawn(muster_door::listen(twin, router, async { _ = stopped.await }));
        Ok((Self { _stop: stop }, TcpListener::from_std(listener)?))
    }
}

fn router(known: Known) -> Router {
    Router::new().route("/healthz", get(alive)).fallback(not_yet).with_state(known)
}

async fn alive(State(known): State<Known>, request: Request) -> Result<&'static str, Problem> {
    check_names(&known.door, &request)?;
    Ok("ok\n")
}

async fn not_yet(State(known): State<Known>, request: Request) -> Response {
    let id = request_id(request.headers());
    let problem = check_names(&known.door, &request).err();
    let problem = problem.unwrap_or_else(|| Problem::busy(format!("not ready: {}", *known.cause.borrow())));
    let mut response = problem.into_response();
    response.headers_mut().insert(REQUEST_ID, id);
    response
}
