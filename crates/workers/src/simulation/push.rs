//! S3, S6: the worker's listener. The master pushes tasks to it, and tells it that it was removed.

use super::{Master, Task, core::Offer};
use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::{delete, post},
};
use muster_contract_simulation::{PushResponse, RemovalNotice};
use serde_json::json;
use std::{pin::pin, sync::Arc, time::Duration};
use tokio::{
    net::TcpListener,
    sync::{mpsc::UnboundedSender, oneshot},
};
use tokio_util::sync::CancellationToken;

/// A request of the master, and the channel for the worker's response.
pub(super) enum Pushed {
    /// A task (S3).
    Task(Box<Task>, oneshot::Sender<Offer>),
    /// The worker was removed (S6).
    Removed(oneshot::Sender<()>),
}

/// The state of the listener.
#[derive(Clone)]
pub(super) struct Hatch {
    worker: Arc<str>,
    master: Arc<Master>,
    tell: UnboundedSender<Pushed>,
}

impl Hatch {
    pub(super) const fn new(worker: Arc<str>, master: Arc<Master>, tell: UnboundedSender<Pushed>) -> Self {
        Self { worker, master, tell }
    }
}

/// Serves the master's requests until `over`. Responses that are on their way then are still sent: a removed worker
/// whose acknowledgement is lost would be taken for a zombie (S6).
pub(super) async fn serve(listener: TcpListener, hatch: Hatch, over: CancellationToken) {
    let routes = Router::new()
        .route("/workers/{id}/tasks", post(take))
        .route("/workers/{id}", delete(dismiss))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(hatch);
    let ending = over.clone().cancelled_owned();
    let mut serving = pin!(axum::serve(listener, routes).with_graceful_shutdown(ending).into_future());
    let served = tokio::select! {
        served = &mut serving => served,
        () = over.cancelled() => {
            tokio::time::timeout(LAST_RESPONSES, serving).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = served {
        tracing::error!(%error, "the listener failed; the master can push no more tasks");
    }
}

/// Only the holder of the token may push a task; the body is not read before that is proven.
async fn take(
    State(hatch): State<Hatch>,
    Path(worker): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some(refused) = refused(&hatch, &worker, &headers, &body) {
        return refused;
    }
    match Task::read(&body) {
        Ok(task) => phrase(offer(&hatch, task).await),
        Err(error) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

/// S6: the master removed this worker. The body must say so: a signed task that somebody recorded must not pass for it.
async fn dismiss(
    State(hatch): State<Hatch>,
    Path(worker): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if let Some(refused) = refused(&hatch, &worker, &headers, &body) {
        return refused;
    }
    if let Err(error) = RemovalNotice::check(&body, &hatch.worker) {
        return refusal(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string());
    }
    let (answer, answered) = oneshot::channel();
    let _ = hatch.tell.send(Pushed::Removed(answer));
    // A worker that no longer listens to this channel has ended, which is all that was asked for.
    let _ = answered.await;
    acknowledgement()
}

/// The refusal of a request that is not for this worker, or does not come from its master.
fn refused(hatch: &Hatch, worker: &str, headers: &HeaderMap, body: &[u8]) -> Option<Response> {
    if *worker != *hatch.worker {
        return Some(refusal(StatusCode::NOT_FOUND, &format!("this is not {worker}")));
    }
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !hatch.master.has_signed(body, signature) {
        return Some(refusal(StatusCode::UNAUTHORIZED, "X-Muster-Signature is not that of the master"));
    }
    None
}

async fn offer(hatch: &Hatch, task: Task) -> Offer {
    let (answer, answered) = oneshot::channel();
    let _ = hatch.tell.send(Pushed::Task(Box::new(task), answer));
    answered.await.unwrap_or(Offer::Away)
}

fn acknowledgement() -> Response {
    Json(PushResponse { ack: true }).into_response()
}

fn phrase(offer: Offer) -> Response {
    match offer {
        Offer::Taken => acknowledgement(),
        Offer::Full => refusal(StatusCode::CONFLICT, "all slots are in use"),
        Offer::Stale { epoch } => {
            refusal(StatusCode::CONFLICT, &format!("the task is of an older epoch than {epoch}"))
        }
        Offer::Wrong { why } => refusal(StatusCode::UNPROCESSABLE_ENTITY, &why),
        Offer::Away => {
            refusal(StatusCode::SERVICE_UNAVAILABLE, "the worker is not registered, or about to leave")
        }
    }
}

fn refusal(status: StatusCode, detail: &str) -> Response {
    (status, Json(json!({"ack": false, "status": status.as_u16(), "detail": detail}))).into_response()
}

const SIGNATURE: &str = "x-muster-signature";
const BODY_BYTES_MAX: usize = 4 << 20;
/// Time for the last responses to be sent.
const LAST_RESPONSES: Duration = Duration::from_secs(2);
