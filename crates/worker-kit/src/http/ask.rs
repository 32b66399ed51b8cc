//! A call to servers that stand for each other: who is tried, and when it may be sent again.

use super::{Servers, refusal, retry_after, root_cause};
use reqwest::{RequestBuilder, Response, StatusCode, Url};
use std::time::Duration;

/// Settings of a call.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    patience: Duration,
    may_repeat: bool,
    waits: bool,
    is_stream: bool,
}

/// Reason why a call got no usable response.
#[derive(Debug, thiserror::Error)]
pub enum Unanswered {
    /// Nothing came back, or not in time.
    #[error("no answer from {server}: {why}")]
    Silent {
        /// The server that was asked last.
        server: String,
        /// In words.
        why: String,
    },
    /// It cannot serve now (503).
    #[error("{server} cannot serve now: {detail}")]
    Unavailable {
        /// The server that said so.
        server: String,
        /// Its words.
        detail: String,
        /// Pause that the server asked for.
        after: Option<Duration>,
    },
}

/// Result of asking one server.
enum Failed {
    /// Nothing of the call has left.
    Unsent(reqwest::Error),
    /// Another one leads; nothing was done.
    NotLeading(Unavailable),
    /// It cannot serve now.
    Unavailable(Unavailable),
    /// Something of the call may have arrived.
    Broken(reqwest::Error),
    /// No answer came in time.
    Late,
    /// The call never was one.
    Nonsense(reqwest::Error),
}

type Unavailable = (String, Option<Duration>);

impl Manner {
    /// A call that may not arrive twice; it is given so long in all, at each server.
    #[must_use]
    pub const fn once(patience: Duration) -> Self {
        Self { patience, may_repeat: false, waits: false, is_stream: false }
    }

    /// A call that changes nothing, or that the server recognises when it comes again.
    #[must_use]
    pub const fn repeatable(patience: Duration) -> Self {
        Self { may_repeat: true, ..Self::once(patience) }
    }

    /// The server may hold its answer back; that shall not be for ever at one that is silent to others.
    #[must_use]
    pub const fn waiting(self) -> Self {
        Self { waits: true, ..self }
    }

    /// Timeout of one server while others can be asked: shorter than for the only server.
    fn beside_others(self) -> Self {
        let is_free = self.may_repeat && !self.waits;
        if is_free { Self { patience: self.patience.min(HUNG_AFTER), ..self } } else { self }
    }

    /// The patience is for the answer to begin; how long it goes on is the caller's business.
    #[must_use]
    pub const fn streaming(self) -> Self {
        Self { is_stream: true, ..self }
    }
}

impl Unanswered {
    /// Pause that was asked for.
    #[must_use]
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Silent { .. } => None,
            Self::Unavailable { after, .. } => *after,
        }
    }
}

impl Servers {
    /// Asks the current server and, where it leaves the call without an answer, the next ones, each once.
    ///
    /// So whoever pauses between tries pauses after a whole round. A call of which something may have arrived is sent
    /// again only if it may be; whoever makes it decides about the rest, and meets another server then. The answer is
    /// any but 503.
    ///
    /// # Errors
    /// No server answered.
    pub async fn ask(
        &self,
        manner: Manner,
        request: impl Fn(&Url) -> RequestBuilder + Send + Sync,
    ) -> Result<Response, Unanswered> {
        let mut place = self.place();
        let mut left = self.count();
        loop {
            let here = if left > 1 { manner.beside_others() } else { manner };
            let failed = match self.ask_one(place, here, request(self.url(place))).await {
                Ok(answer) => return Ok(answer),
                Err(failed) => failed,
            };
            let asked = place;
            place = self.turn(asked, &failed);
            left -= 1;
            if left == 0 || !failed.may_go_on(manner) {
                return Err(failed.at(self.url(asked)));
            }
            tracing::debug!(server = %self.url(asked), next = %self.url(place), "turning to another server");
        }
    }

    async fn ask_one(
        &self,
        place: usize,
        manner: Manner,
        request: RequestBuilder,
    ) -> Result<Response, Failed> {
        let request = if manner.is_stream { request } else { request.timeout(manner.patience) };
        let sending = tokio::time::timeout(manner.patience, request.send());
        let answer = tokio::select! {
            answer = sending => answer.map_err(|_late| Failed::Late)?.map_err(Failed::of)?,
            () = self.found_silent(place), if manner.waits => return Err(Failed::Late),
        };
        if answer.status() != StatusCode::SERVICE_UNAVAILABLE {
            return Ok(answer);
        }
        let after = retry_after(&answer);
        let (kind, detail) = refusal(answer).await;
        let is_elsewhere = kind.ends_with(NOT_LEADING);
        Err(if is_elsewhere {
            Failed::NotLeading((detail, after))
        } else {
            Failed::Unavailable((detail, after))
        })
    }

    /// Turns from a server that failed; gives the place of the one to ask next.
    fn turn(&self, place: usize, failed: &Failed) -> usize {
        match failed {
            Failed::Nonsense(_) => return place,
            // Others need not wait for it either.
            Failed::Unsent(_) | Failed::Broken(_) | Failed::Late => self.tell_silent(place),
            Failed::NotLeading(_) | Failed::Unavailable(_) => {}
        }
        self.pass_over(place)
    }
}

impl Failed {
    fn of(error: reqwest::Error) -> Self {
        match error.without_url() {
            error if error.is_builder() => Self::Nonsense(error),
            error if error.is_connect() => Self::Unsent(error),
            error if error.is_timeout() => Self::Late,
            error => Self::Broken(error),
        }
    }

    /// True if the same call may go to the next server at once.
    const fn may_go_on(&self, manner: Manner) -> bool {
        match self {
            Self::Unsent(_) | Self::NotLeading(_) => true,
            Self::Broken(_) | Self::Late => manner.may_repeat,
            // It asks for patience, and whoever it is asked of pauses.
            Self::Unavailable(_) | Self::Nonsense(_) => false,
        }
    }

    fn at(self, server: &Url) -> Unanswered {
        let server = server.as_str().trim_end_matches('/').to_owned();
        match self {
            Self::NotLeading((detail, after)) | Self::Unavailable((detail, after)) => {
                Unanswered::Unavailable { server, detail, after }
            }
            Self::Unsent(error) | Self::Broken(error) | Self::Nonsense(error) => {
                Unanswered::Silent { server, why: root_cause(&error) }
            }
            Self::Late => Unanswered::Silent { server, why: "it did not answer in time".to_owned() },
        }
    }
}

/// Suffix of the problem type that means: this server did nothing, ask another one.
const NOT_LEADING: &str = ":not-leading";

/// Longer than a server that follows waits for the next leader.
const HUNG_AFTER: Duration = Duration::from_secs(12);

#[cfg(test)]
mod tests;
