//! What may come of a call instead of what it was for.

use muster_model::Millis;
use muster_worker_kit::Text;

/// Why a call did not do what it was for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Nothing came back, or that now is not the time; not before the given span, where one was given.
    NoAnswer(Option<Millis>),
    /// The token, or the secret, is not known.
    Unauthorized,
    /// Trying again will not change it.
    Refused(Refusal),
}

/// An answer that trying again will not change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Its status.
    pub status: u16,
    /// Its words.
    pub detail: Text,
}
