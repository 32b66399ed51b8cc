//! Decisions: the events of a command, and its reply or rejection.

use alloc::vec::Vec;
use muster_model::{Event, Facts, Rejection, Timestamp};

/// Facts that a decision may consult besides memory.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The coordinator's clock.
    pub now: Timestamp,
    /// Random bytes drawn for this command; ids and fences derive from them.
    pub seed: &'a [u8; 32],
    /// Answers of the store about the keys that the command needs.
    pub facts: &'a Facts,
}

impl Context<'_> {
    /// The nth of the unguessable numbers of this command.
    pub(crate) fn number(&self, n: u64) -> u128 {
        let half = |from: usize| {
            let bytes: [u8; 16] = core::array::from_fn(|i| self.seed[from + i]);
            u128::from_le_bytes(bytes)
        };
        half(0).wrapping_add((half(16) | 1).wrapping_mul(u128::from(n) + 1))
    }
}

/// The events that a command causes, and its reply.
#[derive(Debug)]
pub(crate) struct Decision<R = ()> {
    pub(crate) events: Vec<Event>,
    pub(crate) reply: R,
}

impl<R> Decision<R> {
    pub(crate) fn new(events: impl IntoIterator<Item: Into<Event>>, reply: R) -> Self {
        Self { events: events.into_iter().map(Into::into).collect(), reply }
    }

    /// A reply without events, such as the answer to a repeated request.
    pub(crate) fn unchanged(reply: R) -> Self {
        Self { events: Vec::new(), reply }
    }
}

impl Decision {
    pub(crate) fn done(events: Vec<Event>) -> Self {
        Self { events, reply: () }
    }
}

/// The outcome of deciding a command.
pub(crate) type Decided<R = (), X = Rejection> = Result<Decision<R>, Refused<X>>;

/// A rejection that may still cause events, such as an alert.
#[derive(Debug)]
pub(crate) struct Refused<X = Rejection> {
    pub(crate) events: Vec<Event>,
    pub(crate) rejection: X,
}

impl<X> From<X> for Refused<X> {
    fn from(rejection: X) -> Self {
        Self { events: Vec::new(), rejection }
    }
}
