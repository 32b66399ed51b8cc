//! One file per command: says what it would make true. Changes nothing.

pub(crate) mod attempt;
pub(crate) mod cancel;
pub(crate) mod claim;
pub(crate) mod operate;
pub(crate) mod presence;
pub(crate) mod pull;
pub(crate) mod report;
pub(crate) mod settle;
pub(crate) mod submit;
pub(crate) mod tick;

use alloc::vec::Vec;
use muster_model::{Event, Facts, Rejection, Timestamp};

/// What a decision may consult besides memory.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The coordinator's clock.
    pub now: Timestamp,
    /// Random bytes drawn for this command; ids and fences derive from them.
    pub seed: &'a [u8; 32],
    /// What the store said about the keys the command needs.
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

/// What a command makes true, and what its sender is told.
#[derive(Debug)]
pub(crate) struct Decision<R = ()> {
    pub(crate) events: Vec<Event>,
    pub(crate) reply: R,
}

impl<R> Decision<R> {
    pub(crate) fn new(events: Vec<Event>, reply: R) -> Self {
        Self { events, reply }
    }
}

impl Decision {
    pub(crate) fn done(events: Vec<Event>) -> Self {
        Self::new(events, ())
    }
}

pub(crate) type Decided<R = ()> = Result<Decision<R>, Rejection>;

/// A rejection that still makes something true, such as an alert.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) events: Vec<Event>,
    pub(crate) rejection: Rejection,
}

impl From<Rejection> for Refused {
    fn from(rejection: Rejection) -> Self {
        Self { events: Vec::new(), rejection }
    }
}
