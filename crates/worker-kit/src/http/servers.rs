//! The servers of one installation: which one is asked, and which one next.

use super::client_for;
use reqwest::{ClientBuilder, Url};
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
    /// One of them is none; that one is named. Or there is none at all.
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

    pub(super) const fn count(&self) -> usize {
        self.all.len()
    }

    /// The place of the current one.
    pub(super) fn place(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    pub(super) fn url(&self, place: usize) -> &Url {
        &self.all[place].url
    }

    /// Turns to the next, unless somebody did before; gives the place of the one to ask now.
    pub(super) fn pass_over(&self, place: usize) -> usize {
        let next = (place + 1) % self.all.len();
        let passed = self.current.compare_exchange(place, next, Ordering::Relaxed, Ordering::Relaxed);
        passed.map_or_else(|current| current, |_| next)
    }

    /// Has whoever waits at a server wait no longer: it does not answer.
    pub(super) fn tell_silent(&self, place: usize) {
        self.all[place].silent.notify_waiters();
    }

    /// Returns once the server was silent to somebody else; never where there is no other to turn to.
    pub(super) async fn found_silent(&self, place: usize) {
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

const CONNECT_ONLY: Duration = Duration::from_secs(5);
/// Connection timeout while there is another server to ask: waiting for one that is cut off helps nobody.
const CONNECT_ONE_OF: Duration = Duration::from_secs(3);
const KEEP_ALIVE: Duration = Duration::from_secs(5);
const KEEP_ALIVE_TRIES: u32 = 2;
const UNHEARD_MAX: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    fn servers(texts: &[&str]) -> Result<Servers, NotAServer> {
        Servers::parse(texts.iter().copied())
    }

    /// I5, S19: addresses are named one by one or with commas, in order, each once, with and without TLS.
    #[test]
    fn several_addresses_are_read() {
        let all = servers(&["http://a:1, https://b/muster", "http://c:3,", "http://a:1/"]).unwrap();
        assert_eq!(all.to_string(), "http://a:1, https://b/muster, http://c:3");
        assert!(all.are_several() && !servers(&["http://a:1"]).unwrap().are_several());
    }

    /// I5: whatever is no address is named, wherever it stands.
    #[test]
    fn a_wrong_address_is_named() {
        for (text, wrong) in [
            ("http://a:1,b:2", "b:2 is no address"),
            ("ftp://a,http://b", "ftp://a is no address"),
            ("http://a:1,no url", "no url is no address"),
            (" , ", "an empty text is no address"),
            ("", "an empty text is no address"),
        ] {
            let error = servers(&[text]).unwrap_err().to_string();
            assert!(error.starts_with(wrong), "{error}");
        }
    }

    /// S19: those who fail together turn to the next together, and after the last comes the first.
    #[test]
    fn those_who_fail_together_turn_together() {
        let all = servers(&["http://a,http://b,http://c"]).unwrap();
        assert_eq!((all.pass_over(0), all.pass_over(0), all.place()), (1, 1, 1));
        assert_eq!(all.current().as_str(), "http://b/");
        assert_eq!((all.pass_over(1), all.pass_over(2), all.place()), (2, 0, 0));
        all.turn_from(&"http://b/x".parse().unwrap());
        assert_eq!(all.place(), 0, "that is not the current one");
        all.turn_from(&"http://a/x?y".parse().unwrap());
        assert_eq!(all.place(), 1);
    }
}
