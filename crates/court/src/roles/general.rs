//! Runs a domain's tasks (C16).
//!
//! [`GeneralMind`] decides: which task is next, what an attempt came to, whether and when there is another. It touches
//! the folder only, so whatever it was doing when it died its next life takes up from the files.

mod attempts;
mod backlog;
mod mind;
mod runtime;
mod soldier;
mod update;
mod verdict;

pub use mind::{GeneralMind, Start};
pub use runtime::{GeneralError, Post, run};
pub use verdict::Ending;
pub(crate) use verdict::trouble;

#[cfg(test)]
mod tests;
