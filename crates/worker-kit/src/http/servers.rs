//! The servers of one installation: which one is asked, which one next, and when a call may be sent again.

use super::{client_for, refusal, retry_after, root_cause};
use reqwest::{ClientBuilder, RequestBuilder, Response, StatusCode, Url};
use std::{
    fmt,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tokio::sync::Notify;

/// Servers that stand for each other, in the order in which they are tried; at least one.
///
/// All calls share one current server. It stays the current one until it leaves somebody without an answer: any of
/// them takes any call, so there is no way back to a first one.
pub struct Servers {
    all: Vec<Server>,
    current: AtomicUsize,
}

struct Server {
    url: Url,
    /// Tells whoever waits at it that it was silent to somebody else.
    silent: Notify,
}

/// Text that is not a valid server address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is no address of a server; write it like http://127.0.0.1:7400, several with commas between them"
)]
pub struct NotAServer(String);

impl Servers {
    /// Reads addresses, of which each text may hold several with commas between them. One that comes again is no other.
    ///
    /// # Errors
    /// No valid server address was given; carries the first invalid one, if any.
    pub fn parse<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, NotAServer> {
        let pieces = texts.into_iter().flat_map(|text| text.split(',')).map(str::trim);
        let mut all: Vec<Server> = Vec::new();
        for piece in pieces.filter(|piece| !piece.is_empty()) {
            let url = address(piece).ok_or_else(|| NotAServer(piece.to_owned()))?;
            if all.iter().all(|server| server.url != url) {
                all.push(Server { url, silent: Notify::new() });
            }
        }
        if all.is_empty() {
            return Err(NotAServer("an empty text".to_owned()));
        }
        Ok(Self { all, current: AtomicUsize::new(0) })
    }

    /// A client that fits all of them.
    pub fn client(&self) -> ClientBuilder {
        let tls = self.urls().find(|url| url.scheme() == "https");
        let builder = client_for(tls.unwrap_or(self.first()).as_str());
        // A machine that vanished without a word is noticed, also by a call that waits for work.
        let builder = builder.tcp_keepalive(KEEP_ALIVE).tcp_keepalive_interval(KEEP_ALIVE);
        let builder = builder.tcp_keepalive_retries(KEEP_ALIVE_TRIES).tcp_user_timeout(UNHEARD_MAX);
        builder.connect_timeout(if self.are_several() { CONNECT_ONE_OF } else { CONNECT_ONLY })
    }

    /// Their addresses, in order.
    pub fn urls(&self) -> impl Iterator<Item = &Url> {
        self.all.iter().map(|server| &server.url)
    }

    /// The one named first.
    #[must_use]
    pub fn first(&self) -> &Url {
        &self.all[0].url
    }

    /// The one that is asked next.
    #[must_use]
    pub fn current(&self) -> &Url {
        self.url(self.place())
    }

    /// True if there is another server to ask.
    #[must_use]
    pub fn are_several(&self) -> bool {
        self.all.len() > 1
    }

    /// Turns from the server that an answer came from, unless somebody did before.
    pub fn turn_from(&self, answered: &Url) {
        let place = self.urls().position(|url| answered.as_str().starts_with(url.as_str()));
        if let Some(place) = place {
            self.pass_over(place);
        }
    }

    /// The place of the current one.
    fn place(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    fn url(&self, place: usize) -> &Url {
        &self.all[place].url
    }

    /// Turns to the next, unless somebody did before; gives the place of the one to ask now.
    fn pass_over(&self, place: usize) -> usize {
        let next = (place + 1) % self.all.len();
        let passed = self.current.compare_exchange(place, next, Ordering::Relaxed, Ordering::Relaxed);
        passed.map_or_else(|current| current, |_| next)
    }

    /// Has whoever waits at a server wait no longer: it does not answer.
    fn tell_silent(&self, place: usize) {
        self.all[place].silent.notify_waiters();
    }

    /// Returns once the server was silent to somebody else; never where there is no other to turn to.
    async fn found_silent(&self, place: usize) {
        if self.are_several() {
            self.all[place].silent.notified().await;
        } else {
            std::future::pending().await
        }
    }
}

impl From<Url> for Servers {
    fn from(url: Url) -> Self {
        Self { all: vec![Server { url, silent: Notify::new() }], current: AtomicUsize::new(0) }
    }
}

/// All of them, for people.
impl fmt::Display for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, url) in self.urls().enumerate() {
            let comma = if place == 0 { "" } else { ", " };
            write!(f, "{comma}{}", url.as_str().trim_end_matches('/'))?;
        }
        Ok(())
    }
}

impl fmt::Debug for Servers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Servers({self})")
    }
}

fn address(text: &str) -> Option<Url> {
    Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

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
    NotLeading { detail: String, after: Option<Duration> },
    /// It cannot serve now.
    Unavailable { detail: String, after: Option<Duration> },
    /// Something of the call may have arrived.
    Broken(reqwest::Error),
    /// No answer came in time.
    Late,
    /// The call never was one.
    Nonsense(reqwest::Error),
}

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
        let mut left = self.all.len();
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
            Failed::NotLeading { detail, after }
        } else {
            Failed::Unavailable { detail, after }
        })
    }

    /// Turns from a server that failed; gives the place of the one to ask next.
    fn turn(&self, place: usize, failed: &Failed) -> usize {
        match failed {
            Failed::Nonsense(_) => return place,
            // Others need not wait for it either.
            Failed::Unsent(_) | Failed::Broken(_) | Failed::Late => self.tell_silent(place),
            Failed::NotLeading { .. } | Failed::Unavailable { .. } => {}
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
            Self::Unsent(_) | Self::NotLeading { .. } => true,
            Self::Broken(_) | Self::Late => manner.may_repeat,
            // It asks for patience, and whoever it is asked of pauses.
            Self::Unavailable { .. } | Self::Nonsense(_) => false,
        }
    }

    fn at(self, server: &Url) -> Unanswered {
        let server = server.as_str().trim_end_matches('/').to_owned();
        match self {
            Self::NotLeading { detail, after } | Self::Unavailable { detail, after } => {
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
const CONNECT_ONLY: Duration = Duration::from_secs(5);
/// Connection timeout while there is another server to ask: waiting for one that is cut off helps nobody.
const CONNECT_ONE_OF: Duration = Duration::from_secs(3);
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_TRIES: u32 = 2;
const UNHEARD_MAX: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests;
