//! Shared parts of the programs that work for a server: the device agent, the reference workers and the court.
//!
//! [`http`] finds a server that answers; [`call`] makes calls and says what their responses mean; [`Backoff`] is the
//! delay between retries. [`process`] runs programs and ends them for certain. [`journal`] keeps reports on disk until
//! the server has them. [`exchange`] is the event loop around a core that decides and does no IO.

mod backoff;
pub mod call;
pub mod clock;
pub mod exchange;
pub mod http;
pub mod journal;
pub mod png;
pub mod process;
mod secret;

pub use backoff::Backoff;
pub use call::{Refusal, Trouble};
pub use secret::Secret;

/// A shared text that is only passed on: an id, a name, a token.
pub type Text = std::sync::Arc<str>;
