//! Timers. A timer is a hint: whoever it wakes looks at the state before deciding.

use alloc::collections::BTreeSet;
use muster_model::Timestamp;

/// All timers of a domain, soonest first.
#[derive(Clone, Debug)]
pub(crate) struct Timers<T>(BTreeSet<(Timestamp, T)>);

impl<T> Default for Timers<T> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<T: Ord> Timers<T> {
    pub(crate) fn set(&mut self, at: Timestamp, timer: T) {
        self.0.insert((at, timer));
    }

    pub(crate) fn clear(&mut self, at: Timestamp, timer: T) {
        self.0.remove(&(at, timer));
    }

    /// Brings the timer of one object forward to `next`, unless an earlier one is set. `armed` is its present time.
    pub(crate) fn arm(&mut self, armed: &mut Option<Timestamp>, next: Timestamp, timer: T)
    where
        T: Clone,
    {
        if armed.is_some_and(|armed| armed <= next) {
            return;
        }
        if let Some(armed) = armed.replace(next) {
            self.clear(armed, timer.clone());
        }
        self.set(next, timer);
    }

    pub(crate) fn next(&self) -> Option<Timestamp> {
        self.0.first().map(|(at, _)| *at)
    }

    /// Takes the next timer that is due.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<T> {
        if self.next()? > now {
            return None;
        }
        self.0.pop_first().map(|(_, timer)| timer)
    }
}
