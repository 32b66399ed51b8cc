//! Takes the files that tasks leave behind to where the backend says (N21).
//!
//! Each try asks for an address, asks how far the upload is, and sends the rest. So whatever went wrong before (a lost
//! answer, a restart of the server, an address that expired) the next try goes on where the last one ended. The agent
//! holds no key to any storage: the address is all the proof there is, and the node's secret never goes to it.

mod local;
mod offer;
mod send;

use crate::{
    Artifact, Backend,
    driver::StepFailure,
    execute::{Upload, UploadFuture},
};
use local::Local;
use muster_worker_kit::http::{detail, retry_after};
use reqwest::{Response, StatusCode};
use send::Standing;
use std::time::Duration;

/// Uploads through a backend that speaks N21.
#[derive(Clone, Debug)]
pub struct Uploads {
    backend: Backend,
}

/// Why a try did not succeed.
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

/// What may succeed another time.
fn is_for_later(status: StatusCode) -> bool {
    let later = [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_MANY_REQUESTS];
    status.is_server_error() || later.contains(&status)
}

/// An answer that is no success, in words.
async fn words(what: &str, answer: Response) -> String {
    let status = answer.status().as_u16();
    format!("{what} was answered {status}: {}", detail(answer).await)
}

/// Between tries; the step's own time limit ends them.
const PAUSES: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// An address that was just handed out and is refused so often is refused for another reason than its age.
const EXPIRED_MAX: u32 = 3;
