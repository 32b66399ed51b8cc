//! Takes the files that tasks leave behind to where the backend says (N21).
//!
//! Each try asks for an address, asks how far the upload is, and sends the rest. So whatever went wrong before (a lost
//! answer, a restart of the server, an address that expired) the next try goes on where the last one ended. The agent
//! holds no key to any storage: the address is all the proof there is, and the node's secret never goes to it.

use crate::{
    Artifact, Backend,
    driver::StepFailure,
    execute::{Upload, UploadFuture},
};
use futures_util::{Stream, stream};
use muster_contract_nodes::{ArtifactRequest, UploadOffer};
use muster_worker_kit::http::{Manner, detail, retry_after};
use reqwest::{Body, Response, StatusCode, header};
use sha2::{Digest, Sha256};
use std::{
    fmt::Write,
    io::{self, SeekFrom},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::{
    fs::File,
    io::{AsyncReadExt, AsyncSeekExt},
};

/// Uploads through a backend that speaks N21.
#[derive(Clone, Debug)]
pub struct Uploads {
    backend: Backend,
}

/// Reason why a try failed.
#[derive(Debug)]
enum Trouble {
    /// It may, another time.
    Later { words: String, after: Option<Duration> },
    /// The address is not good any more, or never was.
    Expired { words: String },
    /// It never will.
    Refused { words: String },
}

impl Uploads {
    /// Uploads through a backend.
    #[must_use]
    pub const fn new(backend: Backend) -> Self {
        Self { backend }
    }

    /// Tries until it succeeds or is refused. Whoever waits for it ends it.
    async fn carry(&self, upload: &Upload<'_>) -> Result<Artifact, StepFailure> {
        let unreadable =
            |error| StepFailure::other(format!("{} cannot be read: {error}", upload.file.display()));
        let local = Local::look_at(upload.file, upload.content_type).await.map_err(unreadable)?;
        let (mut pauses, mut expired) = (PAUSES.iter().copied(), 0);
        loop {
            match self.one_try(upload, &local).await {
                Ok(artifact) => return Ok(artifact),
                Err(Trouble::Refused { words }) => return Err(StepFailure::other(words)),
                Err(Trouble::Expired { words }) => {
                    expired += 1;
                    if expired == EXPIRED_MAX {
                        return Err(StepFailure::other(words));
                    }
                }
                Err(Trouble::Later { words, after }) => {
                    expired = 0;
                    let pause =
                        after.unwrap_or_default().min(PAUSE_MAX).max(pauses.next().unwrap_or(PAUSE_MAX));
                    tracing::warn!(task = &*upload.job.task, ?pause, words, "an upload is tried again");
                    tokio::time::sleep(pause).await;
                }
            }
        }
    }

    async fn one_try(&self, upload: &Upload<'_>, local: &Local<'_>) -> Result<Artifact, Trouble> {
        let offer = self.ask(upload, local).await?;
        match self.standing(&offer, local).await? {
            Standing::Complete => {}
            Standing::At(offset) => self.send(&offer, local, offset).await?,
        }
        let kind = upload.kind.to_owned();
        Ok(Artifact { kind, storage_path: offer.storage_path, public_url: offer.public_url })
    }
}

impl crate::execute::Uploads for Uploads {
    fn upload<'a>(&'a self, upload: Upload<'a>) -> UploadFuture<'a> {
        Box::pin(async move {
            tokio::select! {
                biased;
                () = upload.cancel.cancelled() => Err(StepFailure::cancelled()),
                done = self.carry(&upload) => done,
            }
        })
    }
}

impl Trouble {
    /// No answer came. Without the address, which may be a secret.
    fn unanswered(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        Self::Later { words: format!("no answer: {error}{cause}"), after: None }
    }

    /// An answer that is no success; `what` was asked.
    async fn of(what: &str, answer: Response) -> Self {
        let status = answer.status();
        let after = retry_after(&answer);
        let words = words(what, answer).await;
        if is_for_later(status) { Self::Later { words, after } } else { Self::Refused { words } }
    }
}

/// True for a status that may succeed another time.
fn is_for_later(status: StatusCode) -> bool {
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || later.contains(&status)
}

/// An answer that is no success, in words.
async fn words(what: &str, answer: Response) -> String {
    let status = answer.status().as_u16();
    format!("{what} was answered {status}: {}", detail(answer).await)
}

/// A file to be uploaded, and what must be known of it beforehand.
#[derive(Debug)]
struct Local<'a> {
    path: &'a Path,
    content_type: &'a str,
    size: u64,
    /// In hexadecimal digits.
    sha256: String,
}

impl<'a> Local<'a> {
    /// Reads it through once.
    async fn look_at(path: &'a Path, content_type: &'a str) -> io::Result<Self> {
        let mut file = File::open(path).await?;
        let (mut hasher, mut size) = (Sha256::new(), 0);
        let mut buffer = vec![0; PIECE_BYTES];
        loop {
            let count = file.read(&mut buffer).await?;
            if count == 0 {
                break;
            }
            hasher.update(&buffer[..count]);
            size += count as u64;
        }
        let mut sha256 = String::with_capacity(64);
        for byte in hasher.finalize() {
            write!(sha256, "{byte:02x}").expect("writing to a string does not fail");
        }
        Ok(Self { path, content_type, size, sha256 })
    }

    /// Its bytes from one on, piece by piece; `moved` counts those that were asked for.
    async fn read_from(
        &self,
        offset: u64,
        moved: Arc<AtomicU64>,
    ) -> io::Result<impl Stream<Item = io::Result<Vec<u8>>> + Send + 'static> {
        let mut file = File::open(self.path).await?;
        file.seek(SeekFrom::Start(offset)).await?;
        let left = self.size - offset;
        Ok(stream::try_unfold((file, left, moved), async |(mut file, left, moved)| {
            let mut piece = vec![0; PIECE_BYTES.min(usize::try_from(left).unwrap_or(PIECE_BYTES))];
            if piece.is_empty() {
                return Ok(None);
            }
            let count = file.read(&mut piece).await?;
            if count == 0 {
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
            }
            piece.truncate(count);
            moved.fetch_add(count as u64, Ordering::Relaxed);
            Ok(Some((piece, (file, left - count as u64, moved))))
        }))
    }
}

impl Uploads {
    /// Asks for an address. A backend that has handed one out for the same attempt and kind gives the same path.
    async fn ask(&self, upload: &Upload<'_>, local: &Local<'_>) -> Result<UploadOffer, Trouble> {
        let Upload { job, kind, name, storage_path, .. } = upload;
        let request = ArtifactRequest {
            node_id: &self.backend.node,
            task_id: &job.task,
            attempt: job.attempt,
            lease_token: job.token.as_deref(),
            kind,
            content_type: local.content_type,
            size: local.size,
            sha256: Some(&local.sha256),
            name: *name,
            storage_path: *storage_path,
        };
        let manner = Manner::repeatable(PATIENCE);
        let answer = self.backend.post("artifacts", request.write(), manner).await;
        let answer = answer
            .map_err(|error| Trouble::Later { words: error.to_string(), after: error.retry_after() })?;
        if !answer.status().is_success() {
            return Err(Trouble::of("the request for an address", answer).await);
        }
        let mut offer: UploadOffer = answer.json().await.map_err(Trouble::unanswered)?;
        let longest = offer.storage_path.len().max(offer.public_url.len());
        if longest > TEXT_BYTES_MAX {
            let words = format!("the address of the file has {longest} bytes, {TEXT_BYTES_MAX} are allowed");
            return Err(Trouble::Refused { words });
        }
        if offer.upload_url.starts_with('/') {
            let server = self.backend.servers.current().as_str().trim_end_matches('/');
            offer.upload_url = format!("{server}{}", offer.upload_url);
        }
        Ok(offer)
    }
}

/// Progress of an upload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    /// Everything is there.
    Complete,
    /// Go on at this byte.
    At(u64),
}

impl Uploads {
    /// Asks how far an upload is; a backend that cannot tell is sent everything.
    async fn standing(&self, offer: &UploadOffer, local: &Local<'_>) -> Result<Standing, Trouble> {
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
    async fn send(&self, offer: &UploadOffer, local: &Local<'_>, offset: u64) -> Result<(), Trouble> {
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

/// Judges the response to an upload.
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

/// True if the backend says that the upload can go on.
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

/// Between tries; the step's own time limit ends them.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// An address that was just handed out and is refused so often is refused for another reason than its age.
const EXPIRED_MAX: u32 = 3;
const PIECE_BYTES: usize = 64 * 1024;
/// For an answer that takes a look at memory.
const PATIENCE: Duration = Duration::from_secs(10);
/// Room for the address in a report that names the file.
const TEXT_BYTES_MAX: usize = 16 * 1024;
/// Longer than a disk takes to make the largest file durable.
const STALL: Duration = Duration::from_secs(20);
