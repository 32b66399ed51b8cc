//! `GET /api/artifacts/…`: operators, and callers with a link, fetch a file.

use super::{
    Artifacts, Visit,
    link::{Download, unknown},
    range::{Span, Wanted, read_range},
};
use axum::{
    Json,
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use muster_artifacts::{Kept, Opened, StoragePath, StoreError};
use muster_contract_nodes::ArtifactLink;
use muster_http::Problem;
use std::io::{self, Read};
use tokio::sync::OwnedSemaphorePermit;

/// Sends an artifact, whole or one range of it, or makes a link to it.
///
/// A link carries `expires` and `signature` and needs no token. It opens this one file until it expires
/// (`artifacts.public_url_days`).
#[utoipa::path(
    get, path = "/api/artifacts/{*path}", operation_id = "artifact", tag = "nodes",
    security(("operator" = []), ("signature" = [])),
    params(
        ("path" = String, Path, description = "Its `storage_path`"),
        ("link" = Option<bool>, Query, description = "`true`: answer a fresh link instead of the file; needs an operator's token"),
        ("Range" = Option<String>, Header, description = "`bytes=FIRST-LAST`, one range"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of a cached copy"),
    ),
    responses(
        (status = 200, description = "The file, or with `link=true` a link to it",
            content((Vec<u8> = "*/*"), (ArtifactLink = "application/json"))),
        (status = 206, description = "The range of it", body = Vec<u8>, content_type = "*/*"),
        (status = 304, description = "The cached copy is up to date"),
        (status = 404, description = "No such artifact"),
        (status = 410, description = "The link has expired"),
        (status = 416, description = "The range is outside of the file"),
        (status = 422, description = "A parameter has a value it cannot have, or occurs twice"),
    )
)]
pub(super) async fn get(visit: Visit, download: Download) -> Result<Response, Problem> {
    match download {
        Download::ByOperator(path) => {
            let permit = visit.http.stream_permit()?;
            send(visit, path, permit).await
        }
        Download::ByLink(path) => {
            let permit = visit.artifacts.link_permit()?;
            send(visit, path, permit).await
        }
        Download::FreshLink(path) => {
            // A link to a file that does not exist would only puzzle its reader.
            open(&visit.artifacts, path.clone(), 0).await?;
            Ok(Json(visit.link_to(&path)?).into_response())
        }
    }
}

/// Sends a file; the permit is held until the last byte has left.
async fn send(visit: Visit, path: StoragePath, permit: OwnedSemaphorePermit) -> Result<Response, Problem> {
    let Visit { artifacts, headers, .. } = visit;
    let opened = open(&artifacts, path.clone(), 0).await?;
    let kept = opened.kept.clone();
    let etag = format!("\"{}\"", kept.sha256);
    if is_at_hand(&headers, &etag) {
        return Ok(dress(StatusCode::NOT_MODIFIED.into_response(), &kept, &path));
    }
    let whole = Span { start: 0, end: kept.size };
    let (status, span, content) = match wanted(&headers, &kept, &etag) {
        Wanted::Whole => (StatusCode::OK, whole, opened.content),
        Wanted::Part(span) => {
            let opened = open(&artifacts, path.clone(), span.start).await?;
            (StatusCode::PARTIAL_CONTENT, span, opened.content)
        }
        Wanted::Nowhere => return Ok(outside(&kept)),
    };
    let body = Body::from_stream(stream::unfold((content, span.length(), permit), next_piece));
    let mut response = dress((status, body).into_response(), &kept, &path);
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(span.length()));
    if status == StatusCode::PARTIAL_CONTENT {
        let range = format!("bytes {}-{}/{}", span.start, span.end - 1, kept.size);
        insert(&mut response, header::CONTENT_RANGE, &range);
    }
    Ok(response)
}

async fn open(artifacts: &Artifacts, path: StoragePath, from: u64) -> Result<Opened, Problem> {
    let opened = artifacts.with_store(move |store| match store.read(&path, from) {
        // Not a file of ours, whoever put it there.
        Err(StoreError::Conflict) => {
            tracing::warn!(%path, "something that is no artifact lies in the store");
            Ok(None)
        }
        opened => opened,
    });
    opened.await?.ok_or_else(unknown)
}

fn is_at_hand(headers: &HeaderMap, etag: &str) -> bool {
    let known = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|value| value.to_str().ok());
    let mut tags = known.flat_map(|value| value.split(',')).map(str::trim);
    tags.any(|tag| tag == "*" || tag.trim_start_matches("W/") == etag)
}

fn wanted(headers: &HeaderMap, kept: &Kept, etag: &str) -> Wanted {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_fresh = text(header::IF_RANGE).is_none_or(|tag| tag == etag);
    match text(header::RANGE) {
        Some(range) if is_fresh => read_range(range, kept.size),
        _ => Wanted::Whole,
    }
}

/// Says what it is, and keeps a browser from taking it for anything else: a file comes from a device, not from us.
fn dress(mut response: Response, kept: &Kept, path: &StoragePath) -> Response {
    let shown = kept.content_type.starts_with("image/") && kept.content_type != "image/svg+xml";
    let place = if shown { "inline" } else { "attachment" };
    let name = path.split().1;
    insert(&mut response, header::CONTENT_TYPE, &kept.content_type);
    insert(&mut response, header::ETAG, &format!("\"{}\"", kept.sha256));
    insert(&mut response, header::CONTENT_DISPOSITION, &format!("{place}; filename=\"{name}\""));
    insert(&mut response, header::CONTENT_SECURITY_POLICY, "sandbox; default-src 'none'");
    insert(&mut response, header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    insert(&mut response, header::ACCEPT_RANGES, "bytes");
    insert(&mut response, header::CACHE_CONTROL, "private, no-cache");
    response
}

fn outside(kept: &Kept) -> Response {
    let detail = format!("the artifact has {} bytes", kept.size);
    let title = "The range lies outside";
    let problem = Problem::new(StatusCode::RANGE_NOT_SATISFIABLE, "range", title, detail);
    let mut response = problem.into_response();
    insert(&mut response, header::CONTENT_RANGE, &format!("bytes */{}", kept.size));
    response
}

/// Everything inserted is made of visible ASCII; what is not (a damaged meta file) is left out.
fn insert(response: &mut Response, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        response.headers_mut().insert(name, value);
    }
}

type Reading = (Box<dyn Read + Send>, u64, OwnedSemaphorePermit);

/// The next piece of a file, as `unfold` wants it; read off the async threads.
async fn next_piece((mut content, left, permit): Reading) -> Option<(io::Result<Bytes>, Reading)> {
    if left == 0 {
        return None;
    }
    let read = tokio::task::spawn_blocking(move || {
        let mut piece = Vec::with_capacity(PIECE_BYTES);
        let result = content.by_ref().take(left.min(PIECE_BYTES as u64)).read_to_end(&mut piece);
        (result.map(|_| piece), content)
    });
    let (piece, content) = read.await.ok()?;
    match piece {
        Ok(piece) if piece.is_empty() => None,
        Ok(piece) => {
            let left = left - piece.len() as u64;
            Some((Ok(Bytes::from(piece)), (content, left, permit)))
        }
        Err(error) => Some((Err(error), (content, 0, permit))),
    }
}

const PIECE_BYTES: usize = 64 * 1024;
