//! Brings a body to the store, piece by piece: the async side reads, a thread of its own writes.

use super::{Claim, Visit, phrase, range::Span, upload::with_offset};
use axum::{
    Json,
    body::{Body, Bytes},
    http::StatusCode,
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use muster_artifacts::{Finished, StoreError, Upload};
use muster_contract_nodes::{Uploaded, UploadedPart};
use muster_http::{HttpState, Problem};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// What is to be received.
#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) claim: Claim,
    pub(super) span: Span,
}

/// How far a body should go.
#[derive(Clone, Copy, Debug)]
struct Goal {
    end: u64,
    /// The file ends there.
    is_last: bool,
}

/// How a body ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fed {
    Whole,
    /// The writer wants no more; it says why.
    Refused,
    Broken,
    Idle,
    Stopping,
}

/// What the writer did.
enum Taken {
    Finished(Finished),
    Paused { at: u64 },
}

/// Receives a body. Whatever way it ends, what came is kept, but where it is not what was announced.
pub(super) async fn receive(
    Visit { http, artifacts, .. }: &Visit,
    order: Order,
    body: Body,
) -> Result<Response, Problem> {
    let place = artifacts.place()?;
    let Order { claim, span } = order.clone();
    let begun = artifacts.with_store(move |store| Ok(store.resume(&claim, span.start))).await?;
    let upload = match begun {
        Ok(upload) => upload,
        Err(error) => return Ok(refusal(&error)),
    };
    let (pieces, inbox) = mpsc::channel(PIECES_MAX);
    let goal = Goal { end: span.end, is_last: span.end == order.claim.size };
    let writing = tokio::task::spawn_blocking(move || take_in(upload, inbox, goal, place));
    let fed = feed(http, body, pieces).await;
    match writing.await.map_err(|error| Problem::internal(&error))? {
        Ok(Taken::Finished(finished)) => Ok(complete(&order.claim, &finished)),
        Ok(Taken::Paused { at }) => Ok(with_offset(paused(&order, fed, at), at, false)),
        Err(error) => Ok(refusal(&error)),
    }
}

/// Reads the body as long as pieces come. `None` tells the writer that it was whole; silence, that it was not.
async fn feed(http: &HttpState, body: Body, pieces: mpsc::Sender<Option<Bytes>>) -> Fed {
    let feeding = async {
        let mut body = body.into_data_stream();
        loop {
            let piece = match tokio::time::timeout(IDLE_MAX, body.next()).await {
                Ok(Some(Ok(piece))) => Some(piece),
                Ok(None) => None,
                Ok(Some(Err(_))) => return Fed::Broken,
                Err(_) => return Fed::Idle,
            };
            let is_last = piece.is_none();
            if pieces.send(piece).await.is_err() {
                return Fed::Refused;
            }
            if is_last {
                return Fed::Whole;
            }
        }
    };
    tokio::select! {
        fed = tokio::time::timeout(UPLOAD_MAX, feeding) => fed.unwrap_or(Fed::Idle),
        () = http.closed() => Fed::Stopping,
    }
}

/// Writes until the body ends. Blocks; holds its place among the uploads until it is through.
fn take_in(
    mut upload: Box<dyn Upload>,
    mut pieces: mpsc::Receiver<Option<Bytes>>,
    goal: Goal,
    _place: OwnedSemaphorePermit,
) -> Result<Taken, StoreError> {
    let is_whole = loop {
        match pieces.blocking_recv() {
            Some(Some(bytes)) => {
                // The store itself refuses what goes beyond the file, and then keeps nothing of it.
                if !goal.is_last && upload.offset() + bytes.len() as u64 > goal.end {
                    return Err(StoreError::TooLong { size: goal.end });
                }
                upload.write(&bytes)?;
            }
            Some(None) => break true,
            None => break false,
        }
    };
    let at = upload.offset();
    if is_whole && goal.is_last && at == goal.end {
        return upload.finish().map(Taken::Finished);
    }
    upload.pause()?;
    Ok(Taken::Paused { at })
}

fn complete(claim: &Claim, finished: &Finished) -> Response {
    let status = if finished.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let storage_path = claim.path.to_string();
    let uploaded =
        Uploaded { storage_path, size: finished.kept.size, sha256: finished.kept.sha256.to_string() };
    with_offset((status, Json(uploaded)).into_response(), finished.kept.size, true)
}

/// A body that did not end the file.
fn paused(order: &Order, fed: Fed, at: u64) -> Response {
    match fed {
        Fed::Whole if at == order.span.end => {
            let part = UploadedPart { storage_path: order.claim.path.to_string(), offset: at };
            (StatusCode::ACCEPTED, Json(part)).into_response()
        }
        Fed::Whole => {
            let detail = format!("ended at byte {at} of {}; go on there", order.span.end);
            Problem::unprocessable("", &detail).into_response()
        }
        Fed::Idle => Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "idle",
            "The body took too long",
            format!("no byte came for a while; go on at byte {at}"),
        )
        .into_response(),
        Fed::Broken | Fed::Refused => {
            Problem::bad_request(format!("the body broke off; go on at byte {at}")).into_response()
        }
        Fed::Stopping => Problem::busy("the server is stopping; go on when it is back").into_response(),
    }
}

fn refusal(error: &StoreError) -> Response {
    let response = phrase(error).into_response();
    match error {
        StoreError::Offset { at } => with_offset(response, *at, false),
        _ => response,
    }
}

/// For the next byte to come; longer than a network that changes over needs.
const IDLE_MAX: Duration = Duration::from_secs(30);

/// For one request in all, so that nobody holds a place for ever by sending a byte now and then.
const UPLOAD_MAX: Duration = Duration::from_secs(3600);

/// Read and not yet written: enough to keep the disk busy.
const PIECES_MAX: usize = 4;
