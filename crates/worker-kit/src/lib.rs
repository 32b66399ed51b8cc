//! Shared parts of the programs that work for a server: the device agent, the reference workers and the court.
//!
//! [`http`] finds a server that answers; [`call`] makes calls and says what their responses mean; [`Backoff`] is the
//! delay between retries. [`process`] runs programs and ends them for certain. [`journal`] keeps reports on disk until
//! the server has them. [`exchange`] is the event loop around a core that decides and does no IO.

pub mod call;
pub mod clock;
pub mod exchange;
pub mod http;
pub mod journal;
pub mod png;
pub mod process;

pub use call::{Backoff, Refusal, Trouble};

use std::fmt;

/// A shared text that is only passed on: an id, a name, a token.
pub type Text = std::sync::Arc<str>;

/// A text that must not appear in logs; its debug form is `…`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Returns the text itself.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

#[cfg(test)]
mod tests {
    use crate::*;

    /// S1: a token appears in no log.
    #[test]
    fn a_secret_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("token")), "…");
    }
}
