//! `GET /api/artifacts/…`: operators fetch what came.

use super::{Artifacts, Visit};
use crate::translate::{Span, Wanted, read_range};
use axum::{
    body::{Body, Bytes},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use futures_util::stream;
use muster_artifacts::{Kept, Opened, StoragePath, StoreError};
use muster_door::{Operator, PathText, Problem};
use std::io::{self, Read};
use tokio::sync::OwnedSemaphorePermit;

/// Gives an artifact back, whole or one stretch of it.
#[utoipa::path(
    get, path = "/api/artifacts/{*path}", operation_id = "artifact", tag = "nodes", security(("operator" = [])),
    params(
        ("path" = String, Path, description = "Its `storage_path`"),
        ("Range" = Option<String>, Header, description = "`bytes=FIRST-LAST`, one stretch"),
        ("If-None-Match" = Option<String>, Header, description = "The `ETag` of what is at hand"),
    ),
    responses(
        (status = 200, description = "The file", body = Vec<u8>, content_type = "*/*"),
        (status = 206, description = "The stretch of it", body = Vec<u8>, content_type = "*/*"),
        (status = 304, description = "It is what is at hand"),
        (status = 404, description = "No such artifact"),
        (status = 416, description = "The stretch lies outside of it"),
    )
)]
pub(super) async fn get(
    Visit { door, artifacts, headers }: Visit,
    _: Operator,
    PathText(path): PathText,
) -> Result<Response, Problem> {
    let path = StoragePath::parse(&path).map_err(|_| unknown())?;
    let permit = door.stream_permit()?;
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

fn unknown() -> Problem {
    Problem::not_found("there is no such artifact")
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
