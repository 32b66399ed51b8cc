//! Asks how far an upload is, and sends the rest.

use super::{
    Local, Trouble, Uploads, is_for_later,
    offer::{Offer, PATIENCE},
    words,
};
use muster_worker_kit::http::retry_after;
use reqwest::{Body, Response, StatusCode, header};
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// How far an upload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// Everything is there.
    Complete,
    /// Go on at this byte.
    At(u64),
}

impl Uploads {
    /// Asks how far an upload is; a backend that cannot tell is sent everything.
    pub(super) async fn standing(&self, offer: &Offer, local: &Local<'_>) -> Result<Standing, Trouble> {
        let request = self.backend.client.head(&offer.upload_url).timeout(PATIENCE);
        let answer = request.send().await.map_err(Trouble::unanswered)?;
        match answer.status() {
            status if status.is_success() => Ok(read_standing(&answer, local.size)),
            StatusCode::CONFLICT if is_resumable(&answer) => Err(elsewhere(&answer)),
            StatusCode::CONFLICT => {
                let words = format!("another content is kept at {}", offer.storage_path);
                Err(Trouble::Refused { words })
            }
            status if is_for_later(status) && status != StatusCode::NOT_IMPLEMENTED => {
                Err(Trouble::of("the question how far the upload is", answer).await)
            }
            // A storage that signs for PUT alone refuses the question in words of its own.
            _ => Ok(Standing::At(0)),
        }
    }

    /// Sends the file from a byte on.
    pub(super) async fn send(&self, offer: &Offer, local: &Local<'_>, offset: u64) -> Result<(), Trouble> {
        let moved = Arc::new(AtomicU64::new(0));
        let gone = |error| Trouble::Refused { words: format!("the file cannot be read: {error}") };
        let pieces = local.read_from(offset, Arc::clone(&moved)).await.map_err(gone)?;
        let mut request =
            self.backend.client.put(&offer.upload_url).header(header::CONTENT_TYPE, local.content_type);
        // Said beforehand, because not every storage takes a body of unknown length.
        request = request.header(header::CONTENT_LENGTH, local.size - offset);
        if offset > 0 {
            let range = format!("bytes {offset}-{}/{}", local.size - 1, local.size);
            request = request.header(header::CONTENT_RANGE, range);
        }
        let answer = tokio::select! {
            answer = request.body(Body::wrap_stream(pieces)).send() => answer.map_err(Trouble::unanswered)?,
            () = stalled(&moved) => {
                return Err(Trouble::Later { words: "the upload stalled".to_owned(), after: None });
            }
        };
        judge(answer).await
    }
}

/// What an answer to an upload means.
async fn judge(answer: Response) -> Result<(), Trouble> {
    let status = answer.status();
    let is_part = answer.headers().get("upload-complete").is_some_and(|value| value == "?0");
    if status.is_success() && !is_part {
        return Ok(());
    }
    if status.is_success() || (status == StatusCode::CONFLICT && is_resumable(&answer)) {
        return Err(elsewhere(&answer));
    }
    if status == StatusCode::FORBIDDEN {
        return Err(Trouble::Expired { words: words("the upload", answer).await });
    }
    Err(Trouble::of("the upload", answer).await)
}

fn read_standing(answer: &Response, size: u64) -> Standing {
    let told = answer.headers().get("upload-complete").and_then(|value| value.to_str().ok());
    match (told, offset(answer)) {
        (Some("?1"), _) => Standing::Complete,
        (None, Some(offset)) if offset == size && size > 0 => Standing::Complete,
        (_, Some(offset)) if offset < size => Standing::At(offset),
        _ => Standing::At(0),
    }
}

fn elsewhere(answer: &Response) -> Trouble {
    let words = "the upload stands elsewhere".to_owned();
    Trouble::Later { words, after: retry_after(answer) }
}

/// Whether the backend says that the upload can go on.
fn is_resumable(answer: &Response) -> bool {
    offset(answer).is_some() || answer.headers().contains_key(header::RETRY_AFTER)
}

fn offset(answer: &Response) -> Option<u64> {
    answer.headers().get("upload-offset")?.to_str().ok()?.parse().ok()
}

/// Ends when no byte has been asked for during a while: a connection that died in silence would hold the step.
async fn stalled(moved: &AtomicU64) {
    let mut before = u64::MAX;
    loop {
        let now = moved.load(Ordering::Relaxed);
        if now == before {
            return;
        }
        before = now;
        tokio::time::sleep(STALL).await;
    }
}

/// Longer than a disk takes to make the largest file durable.
const STALL: Duration = Duration::from_secs(20);
