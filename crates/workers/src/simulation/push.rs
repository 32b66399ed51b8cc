//! S3: tasks that a master brings, instead of being asked for them.

use super::{Master, Task, core::Offer, wire};
use axum::{
    Json, Router,
    body::Bytes,
    extract::{DefaultBodyLimit, Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::json;
use std::sync::Arc;
use tokio::{
    net::TcpListener,
    sync::{mpsc::UnboundedSender, oneshot},
};

/// A task that was brought, and where to say what becomes of it.
pub(super) type Brought = (Box<Task>, oneshot::Sender<Offer>);

/// Who takes tasks.
#[derive(Clone)]
struct Hatch {
    worker: Arc<str>,
    master: Arc<Master>,
    tell: UnboundedSender<Brought>,
}

/// Takes tasks until nobody wants any more.
pub(super) async fn serve(
    listener: TcpListener,
    worker: Arc<str>,
    master: Arc<Master>,
    tell: UnboundedSender<Brought>,
) {
    let routes = Router::new()
        .route("/workers/{id}/tasks", post(take))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(Hatch { worker, master, tell });
    if let Err(error) = axum::serve(listener, routes).await {
        tracing::error!(%error, "no more tasks can be brought");
    }
}

/// Only who knows the token may bring a task; only then is it looked at.
async fn take(
    State(hatch): State<Hatch>,
    Path(worker): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    if *worker != *hatch.worker {
        return refusal(StatusCode::NOT_FOUND, &format!("this is not {worker}"));
    }
    let signature = headers.get(SIGNATURE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if !hatch.master.has_signed(&body, signature) {
        return refusal(StatusCode::UNAUTHORIZED, "X-Muster-Signature is not that of the master");
    }
    match wire::read_task(&body) {
        Ok(task) => phrase(offer(&hatch, task).await),
        Err(error) => refusal(StatusCode::UNPROCESSABLE_ENTITY, &error.to_string()),
    }
}

async fn offer(hatch: &Hatch, task: Task) -> Offer {
    let (answer, answered) = oneshot::channel();
    let _ = hatch.tell.send((Box::new(task), answer));
    answered.await.unwrap_or(Offer::Away)
}

fn phrase(offer: Offer) -> Response {
    match offer {
        Offer::Taken => Json(json!({"ack": true})).into_response(),
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
