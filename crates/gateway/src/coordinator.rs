//! A coordinator behind the gateway: where it is, and whether it is ready.

use axum::http::{
    HeaderValue, Uri,
    uri::{Authority, PathAndQuery, Scheme},
};
use std::{
    str::FromStr,
    sync::atomic::{AtomicBool, Ordering},
};

/// Where a coordinator is: `http` or `https`, a host and perhaps a port, and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CoordinatorUrl {
    scheme: Scheme,
    authority: Authority,
}

/// Why a text is no address of a coordinator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} is no address of a coordinator; write it like http://127.0.0.1:7400, without a path")]
pub struct UrlError(String);

impl FromStr for CoordinatorUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Self, UrlError> {
        read(text).ok_or_else(|| UrlError(text.to_owned()))
    }
}

impl CoordinatorUrl {
    /// Whether the way there is encrypted.
    #[must_use]
    pub fn is_https(&self) -> bool {
        self.scheme == Scheme::HTTPS
    }

    /// The address of something there.
    pub(crate) fn join(&self, path: PathAndQuery) -> Uri {
        let mut parts = axum::http::uri::Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Uri::from_parts(parts).expect("a scheme, an authority and a path make an address")
    }

    /// The name or the address of its machine.
    #[must_use]
    pub fn host(&self) -> &str {
        self.authority.host()
    }

    /// What goes into the header Host.
    pub(crate) fn host_header(&self) -> HeaderValue {
        HeaderValue::from_str(self.authority.as_str()).expect("an authority is visible text")
    }
}

impl std::fmt::Display for CoordinatorUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}://{}", self.scheme, self.authority)
    }
}

/// One of the coordinators.
#[derive(Debug)]
pub(crate) struct Coordinator {
    pub(crate) url: CoordinatorUrl,
    is_ready: AtomicBool,
}

impl Coordinator {
    pub(crate) fn new(url: CoordinatorUrl) -> Self {
        Self { url, is_ready: AtomicBool::new(false) }
    }

    pub(crate) fn is_ready(&self) -> bool {
        self.is_ready.load(Ordering::Relaxed)
    }

    /// Writes down whether it is ready; changes are logged.
    pub(crate) fn set_ready(&self, is_ready: bool) {
        if self.is_ready.swap(is_ready, Ordering::Relaxed) != is_ready {
            let (coordinator, state) = (&self.url, if is_ready { "ready" } else { "not ready" });
            tracing::info!(%coordinator, state, "a coordinator changed");
        }
    }
}

fn read(text: &str) -> Option<CoordinatorUrl> {
    let uri: Uri = text.parse().ok()?;
    let parts = uri.into_parts();
    let scheme = parts.scheme.filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)?;
    let authority = parts.authority.filter(|authority| !authority.as_str().contains('@'))?;
    let is_bare = parts.path_and_query.is_none_or(|path| path == "/");
    (is_bare && !text.contains('#') && !authority.host().is_empty())
        .then_some(CoordinatorUrl { scheme, authority })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// P16: requests go to http and https addresses and to nothing else.
    #[test]
    fn an_address_has_a_host_and_no_path() {
        for fine in ["http://127.0.0.1:7400", "https://muster.example/", "http://[::1]:7400"] {
            assert!(fine.parse::<CoordinatorUrl>().is_ok(), "{fine}");
        }
        for wrong in [
            "127.0.0.1:7400",
            "ftp://a",
            "unix:/run/muster",
            "http://",
            "http://user:secret@a",
            "http://a/path",
            "http://a?x",
            "http://a/#x",
            "http://a b",
            "",
        ] {
            assert!(wrong.parse::<CoordinatorUrl>().is_err(), "{wrong}");
        }
    }
}
