//! `PUT` and `HEAD` of a signed address: the address is the proof (I7), so that no token is asked for. A body is brought to the
//! store piece by piece: the async side reads, a thread of its own writes.

use super::{
    Claim, Visit,
    link::Address,
    phrase,
    range::{Span, read_content_range},
};
use axum::{
    Json,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::StreamExt;
use muster_artifacts::{Finished, Progress, Proof, ProofError, StoragePath, StoreError, Upload};
use muster_contract_nodes::{Uploaded, UploadedPart, essence};
use muster_http::{Deadline, HttpState, Params, Problem};
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, mpsc};

/// Takes a file, whole or from where it stands on.
///
/// With `Content-Range: bytes FIRST-LAST/SIZE` the upload goes on at `FIRST`, which must be where it stands; without,
/// it begins anew. A repeat of what is complete changes nothing.
#[utoipa::path(
    put, path = "/api/uploads/{*path}", operation_id = "upload_artifact", tag = "nodes", security(("signature" = [])),
    params(
        ("path" = String, Path, description = "The `storage_path` of the offer"),
        ("size" = u64, Query, description = "Of the signed address"),
        ("type" = String, Query, description = "Of the signed address"),
        ("sha256" = Option<String>, Query, description = "Of the signed address"),
        ("expires" = i64, Query, description = "Of the signed address"),
        ("Content-Range" = Option<String>, Header, description = "Which bytes come, where it is not all"),
    ),
    request_body(content = Vec<u8>, content_type = "application/octet-stream", description = "The file, or the rest of it"),
    responses(
        (status = 200, description = "It was complete before, with the same content", body = Uploaded),
        (status = 201, description = "It is complete", body = Uploaded),
        (status = 202, description = "These bytes are kept; `Upload-Offset` says where to go on", body = UploadedPart),
        (status = 400, description = "The body broke off, or Content-Range cannot be read"),
        (status = 401, description = "The address carries no proof"),
        (status = 403, description = "The proof does not fit or has expired: ask for a new address"),
        (status = 408, description = "No byte came for a while; what came before is kept"),
        (status = 409, description = "The upload stands elsewhere (`Upload-Offset`), or another content is kept there"),
        (status = 413, description = "More bytes than were announced; nothing of them is kept"),
        (status = 415, description = "The Content-Type is not the one that was announced"),
        (status = 422, description = "The content does not hash to what was announced, or its length does not fit"),
        (status = 507, description = "There is no room left; what came is kept"),
    )
)]
pub(super) async fn put(
    visit: Visit,
    address: Address,
    deadline: Deadline,
    body: Body,
) -> Result<Response, Problem> {
    let order = order(verify(&visit, &address)?, &visit.headers)?;
    // A caller with a valid signature may be slow; from here on it is enough that bytes keep coming.
    deadline.lift();
    receive(&visit, order, body).await
}

/// Says how much of a file has come, so that its upload can go on.
#[utoipa::path(
    head, path = "/api/uploads/{*path}", operation_id = "upload_offset", tag = "nodes", security(("signature" = [])),
    params(
        ("path" = String, Path, description = "The `storage_path` of the offer"),
        ("size" = u64, Query, description = "Of the signed address"),
        ("type" = String, Query, description = "Of the signed address"),
        ("sha256" = Option<String>, Query, description = "Of the signed address"),
        ("expires" = i64, Query, description = "Of the signed address"),
    ),
    responses(
        (status = 200, description = "`Upload-Offset` is the number of bytes that came, `Upload-Complete` is ?1 when that is all"),
        (status = 401, description = "The address carries no proof"),
        (status = 403, description = "The proof does not fit or has expired: ask for a new address"),
        (status = 409, description = "Another content is kept there"),
        (status = 422, description = "A parameter stands twice"),
    )
)]
pub(super) async fn head(visit: Visit, address: Address) -> Result<Response, Problem> {
    let claim = verify(&visit, &address)?;
    let size = claim.size;
    let (offset, is_complete) = match visit.artifacts.with_store(move |store| store.progress(&claim)).await? {
        Progress::Partial(offset) => (offset, false),
        Progress::Complete(_) => (size, true),
    };
    Ok(with_offset(StatusCode::OK.into_response(), offset, is_complete))
}

/// Adds what a sender needs to go on.
fn with_offset(mut response: Response, offset: u64, is_complete: bool) -> Response {
    let headers = response.headers_mut();
    headers.insert(UPLOAD_OFFSET, HeaderValue::from(offset));
    headers.insert(UPLOAD_COMPLETE, HeaderValue::from_static(if is_complete { "?1" } else { "?0" }));
    response
}

fn verify(
    Visit { http, artifacts, .. }: &Visit,
    Address { path, params }: &Address,
) -> Result<Claim, Problem> {
    if SIGNED.iter().all(|name| params.opt_text(name).is_none()) {
        return Err(Problem::unauthorized());
    }
    let (claim, proof) = read_claim(&path.0, params).ok_or_else(forged)?;
    let verified = artifacts.0.signer.verify(&claim, proof, http.coordinator.now().0);
    verified.map_err(|error| match error {
        ProofError::Forged => forged(),
        ProofError::Expired => {
            Problem::forbidden("this address has expired; ask for a new one and go on with that")
        }
    })?;
    Ok(claim)
}

fn read_claim<'p>(path: &str, params: &'p Params) -> Option<(Claim, Proof<'p>)> {
    let sha256 = params.opt_text("sha256").map(str::parse).transpose().ok()?;
    let claim = Claim {
        path: StoragePath::parse(path).ok()?,
        size: params.opt_text("size")?.parse().ok()?,
        content_type: params.opt_text("type")?.to_owned(),
        sha256,
    };
    let expires_at = params.opt_text("expires")?.parse().ok()?;
    Some((claim, Proof { expires_at, signature: params.opt_text("signature")? }))
}

fn forged() -> Problem {
    Problem::forbidden("this address was not handed out here, or was altered; ask for a new one")
}

/// Checks what the headers say against what was announced.
fn order(claim: Claim, headers: &HeaderMap) -> Result<Order, Problem> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if text(header::CONTENT_TYPE).map(essence).as_deref() != Some(&claim.content_type) {
        return Err(Problem::unsupported_media_type(&claim.content_type));
    }
    let whole = Span { start: 0, end: claim.size };
    let span = text(header::CONTENT_RANGE).map_or(Ok(whole), |range| content_range(range, claim.size))?;
    // Without a Content-Length the bytes are counted as they arrive.
    let told = text(header::CONTENT_LENGTH).and_then(|length| length.parse::<u64>().ok());
    match told {
        Some(length) if length > span.length() => {
            Err(Problem::too_large(usize::try_from(span.length()).unwrap_or(usize::MAX)))
        }
        Some(length) if length < span.length() => {
            let detail = format!("must be {}: the bytes that were announced", span.length());
            Err(Problem::unprocessable("Content-Length", &detail))
        }
        _ => Ok(Order { claim, span }),
    }
}

fn content_range(text: &str, size: u64) -> Result<Span, Problem> {
    let range = read_content_range(text);
    let (span, total) =
        range.ok_or_else(|| Problem::bad_request("Content-Range must be `bytes FIRST-LAST/SIZE`"))?;
    if total != size {
        let detail = format!("must be of {size} bytes in all, as was announced");
        return Err(Problem::unprocessable("Content-Range", &detail));
    }
    Ok(span)
}

const SIGNED: [&str; 5] = ["size", "type", "sha256", "expires", "signature"];
const UPLOAD_OFFSET: HeaderName = HeaderName::from_static("upload-offset");
const UPLOAD_COMPLETE: HeaderName = HeaderName::from_static("upload-complete");

/// An upload to receive.
#[derive(Clone, Debug)]
struct Order {
    claim: Claim,
    span: Span,
}

/// The place that a body should reach.
#[derive(Clone, Copy, Debug)]
struct Goal {
    end: u64,
    /// The file ends there.
    is_last: bool,
}

/// The end of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BodyEnd {
    Whole,
    /// The writer wants no more; it says why.
    Refused,
    Broken,
    Idle,
    Stopping,
}

/// The result of the writer.
enum Written {
    Finished(Finished),
    Paused { at: u64 },
}

/// Receives a body. Whatever way it ends, what came is kept, but where it is not what was announced.
async fn receive(
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
        Ok(Written::Finished(finished)) => Ok(complete(&order.claim, &finished)),
        Ok(Written::Paused { at }) => Ok(with_offset(paused(&order, fed, at), at, false)),
        Err(error) => Ok(refusal(&error)),
    }
}

/// Reads the body as long as pieces come. `None` tells the writer that it was whole; silence, that it was not.
async fn feed(http: &HttpState, body: Body, pieces: mpsc::Sender<Option<Bytes>>) -> BodyEnd {
    let feeding = async {
        let mut body = body.into_data_stream();
        loop {
            let piece = match tokio::time::timeout(IDLE_MAX, body.next()).await {
                Ok(Some(Ok(piece))) => Some(piece),
                Ok(None) => None,
                Ok(Some(Err(_))) => return BodyEnd::Broken,
                Err(_) => return BodyEnd::Idle,
            };
            let is_last = piece.is_none();
            if pieces.send(piece).await.is_err() {
                return BodyEnd::Refused;
            }
            if is_last {
                return BodyEnd::Whole;
            }
        }
    };
    tokio::select! {
        fed = tokio::time::timeout(UPLOAD_MAX, feeding) => fed.unwrap_or(BodyEnd::Idle),
        () = http.closed() => BodyEnd::Stopping,
    }
}

/// Writes until the body ends. Blocks; holds its place among the uploads until it is through.
fn take_in(
    mut upload: Box<dyn Upload>,
    mut pieces: mpsc::Receiver<Option<Bytes>>,
    goal: Goal,
    _place: OwnedSemaphorePermit,
) -> Result<Written, StoreError> {
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
        return upload.finish().map(Written::Finished);
    }
    upload.pause()?;
    Ok(Written::Paused { at })
}

fn complete(claim: &Claim, finished: &Finished) -> Response {
    let status = if finished.is_new { StatusCode::CREATED } else { StatusCode::OK };
    let storage_path = claim.path.to_string();
    let uploaded =
        Uploaded { storage_path, size: finished.kept.size, sha256: finished.kept.sha256.to_string() };
    with_offset((status, Json(uploaded)).into_response(), finished.kept.size, true)
}

/// A body that did not end the file.
fn paused(order: &Order, fed: BodyEnd, at: u64) -> Response {
    match fed {
        BodyEnd::Whole if at == order.span.end => {
            let part = UploadedPart { storage_path: order.claim.path.to_string(), offset: at };
            (StatusCode::ACCEPTED, Json(part)).into_response()
        }
        BodyEnd::Whole => {
            let detail = format!("ended at byte {at} of {}; go on there", order.span.end);
            Problem::unprocessable("", &detail).into_response()
        }
        BodyEnd::Idle => Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            "idle",
            "The body took too long",
            format!("no byte came for a while; go on at byte {at}"),
        )
        .into_response(),
        BodyEnd::Broken | BodyEnd::Refused => {
            Problem::bad_request(format!("the body broke off; go on at byte {at}")).into_response()
        }
        BodyEnd::Stopping => Problem::busy("the server is stopping; go on when it is back").into_response(),
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
