//! Shared parts of the programs that work for a server: the device agent, the reference workers and the court.
//!
//! [`http`] calls servers and turns to the next one when a server does not answer; [`process`] runs programs and ends
//! them for certain; [`png`] writes small pictures.

pub mod http;
pub mod png;
pub mod process;

/// A shared text that is only passed on: an id, a name, a token.
pub type Text = std::sync::Arc<str>;
