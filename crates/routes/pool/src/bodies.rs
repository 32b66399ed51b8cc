//! Bodies that hold many things at once, and what takes long to read.

use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{HeaderMap, header},
};
use muster_http::{BodyBytes, HttpState, Problem};
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// A body of a route that takes up to a thousand things at once: several times as long as others may be, but only so many
/// such at a time, and only if it says beforehand how long it is.
pub(crate) struct LargeBody {
    pub(crate) bytes: Bytes,
    _room: Option<OwnedSemaphorePermit>,
}

/// The room that there is for large bodies. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LargeRoom(Arc<Semaphore>);

impl LargeRoom {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(LARGE_AT_ONCE)))
    }
}

impl FromRequest<HttpState> for LargeBody {
    type Rejection = Problem;

    async fn from_request(request: Request, http: &HttpState) -> Result<Self, Problem> {
        if declared(request.headers()) <= http.settings.body_limit_bytes {
            let BodyBytes(bytes) = BodyBytes::from_request(request, http).await?;
            return Ok(Self { bytes, _room: None });
        }
        let room = request.extensions().get::<LargeRoom>().cloned();
        let room = room.ok_or_else(|| Problem::internal(&"a route without room for large bodies"))?;
        let room = room.0.try_acquire_owned();
        let room = room.map_err(|_| Problem::busy("too many large bodies are being read; try again"))?;
        let limit_bytes = http.settings.body_limit_bytes.saturating_mul(TIMES_AS_LONG);
        let BodyBytes(bytes) = BodyBytes::read(request, limit_bytes).await?;
        Ok(Self { bytes, _room: Some(room) })
    }
}

/// Runs what a body of that length keeps busy: beside the async threads, unless it is soon done.
pub(crate) async fn apart<T: Send + 'static>(
    body_bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Problem> {
    if body_bytes <= SOON_DONE_BYTES {
        return Ok(work());
    }
    tokio::task::spawn_blocking(work).await.map_err(|error| Problem::internal(&error))
}

fn declared(headers: &HeaderMap) -> usize {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok());
    length.and_then(|length| length.parse().ok()).unwrap_or_default()
}

/// A thousand results or jobs of a common size.
const TIMES_AS_LONG: usize = 16;
/// With the default limit they take 256 MiB in all.
const LARGE_AT_ONCE: usize = 16;
/// Parsed and hashed in less than a millisecond.
const SOON_DONE_BYTES: usize = 64 << 10;
