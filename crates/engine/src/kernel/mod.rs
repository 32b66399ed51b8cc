//! The parts that all domains share: decisions, timers, planted bugs, the script language.
//!
//! A domain (devices, sessions of frames, the pool, accounts, schedules) has the same three parts:
//!
//! - `decide(&State, Command, &Context) -> Decided<Reply, Rejection>` computes the events of a command. It changes
//!   nothing. A command that needs several decisions (a pull, a batch of results) is a row of such steps: `execute`
//!   applies each step before it decides the next one.
//! - `apply(&mut State, &Event)` changes memory by one event. It refuses nothing and decides nothing.
//! - `take_due(&mut State, now)` takes the next due timer off the list; another `decide` says what follows from it.

mod decision;
#[cfg(test)]
pub(crate) mod script;
mod timers;
mod waiting;

pub use decision::Context;
pub(crate) use decision::{Decided, Decision, Refused};
pub(crate) use timers::Timers;
pub use waiting::{Waiter, Woken};

/// Hash map with a fixed seed: the same commands give the same state, always.
pub(crate) type Map<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;

/// Switched-on bug, for proving that the checks bite. Without the feature `mutants` there is none.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PlantedBug(#[cfg(feature = "mutants")] pub(crate) Option<crate::Mutant>);

impl PlantedBug {
    #[cfg(feature = "mutants")]
    pub(crate) fn is(self, mutant: crate::Mutant) -> bool {
        self.0 == Some(mutant)
    }

    #[cfg(not(feature = "mutants"))]
    #[allow(clippy::unused_self, reason = "same shape as with planted bugs")]
    pub(crate) const fn is(self, _: crate::Mutant) -> bool {
        false
    }
}
