//! S6: how a worker leaves.

use super::{Action, Core, Over, Refusal, Trouble, link::Link, work::Phase};
use muster_model::{Millis, Timestamp};

/// A worker that will take nothing more.
#[derive(Debug)]
pub(super) struct Farewell {
    why: Over,
    /// After this nothing is waited for any more.
    until: Timestamp,
    step: Step,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// What runs is ended; results of what has ended are handed in.
    Tidying,
    /// The master is told.
    Telling {
        asking: Option<u64>,
        next_at: Timestamp,
        tries: u32,
    },
    Said,
}

impl Farewell {
    /// Of a worker that the master will have none of: nobody need be told.
    pub(super) fn refused(refusal: Refusal, now: Timestamp) -> Self {
        Self { why: Over::Refused(refusal), until: now + PATIENCE, step: Step::Tidying }
    }

    pub(super) fn why(&self) -> &Over {
        &self.why
    }

    pub(super) fn is_said(&self) -> bool {
        self.step == Step::Said
    }

    /// Whether the master shall hear no more signs of life: whoever was removed or has said good-bye, and goes on
    /// calling, is a zombie (S6).
    pub(super) const fn is_silent(&self) -> bool {
        matches!(self.why, Over::Refused(_)) || !matches!(self.step, Step::Tidying)
    }

    pub(super) fn next_wake(&self) -> Option<Timestamp> {
        match self.step {
            Step::Tidying => Some(self.until),
            Step::Telling { asking, next_at, .. } => asking.is_none().then_some(next_at),
            Step::Said => None,
        }
    }
}

impl Core {
    /// Nothing new from now on: what runs is ended, results that are ready are handed in, the master is told; see
    /// [`Core::over`].
    pub fn leave(&mut self, now: Timestamp) {
        if self.farewell.is_none() {
            self.farewell = Some(Farewell { why: Over::Left, until: now + PATIENCE, step: Step::Tidying });
        }
        let running: Vec<u64> = self
            .works
            .iter()
            .filter(|(_, held)| !matches!(held.phase, Phase::Reporting(_)))
            .map(|(work, _)| *work)
            .collect();
        running.into_iter().for_each(|work| self.let_go(work));
        self.settle(now);
    }

    /// The master was told that the worker leaves, or was not.
    pub fn unregistered(&mut self, number: u64, answer: Result<(), Trouble>, now: Timestamp) {
        let Some(Farewell { step, .. }) = &mut self.farewell else { return };
        let Step::Telling { asking, next_at, tries } = step else { return };
        if asking.take_if(|asked| *asked == number).is_none() {
            return;
        }
        match answer {
            Err(Trouble::NoAnswer(_)) if *tries < TRIES_MAX => *next_at = now + AGAIN,
            // Whoever cannot be told will notice the silence.
            _ => *step = Step::Said,
        }
        self.settle(now);
    }

    /// Takes the next step of leaving.
    pub(super) fn take_leave(&mut self, now: Timestamp) {
        let is_settling =
            !self.works.is_empty() || matches!(&self.link, Link::Away(away) if away.asking.is_some());
        let is_bound = matches!(self.link, Link::Bound(_));
        let number = self.last_number + 1;
        let Some(farewell) = &mut self.farewell else { return };
        if farewell.step == Step::Tidying && (!is_settling || farewell.until <= now) {
            farewell.step = if is_bound && farewell.why == Over::Left {
                Step::Telling { asking: None, next_at: now, tries: 0 }
            } else {
                Step::Said
            };
        }
        let Step::Telling { asking, next_at, tries } = &mut farewell.step else { return };
        if asking.is_none() && *next_at <= now {
            *asking = Some(number);
            *tries += 1;
            self.last_number = number;
            self.actions.push_back(Action::Unregister(number));
        }
    }
}

/// How long programs may take to end, and results to be handed in.
const PATIENCE: Millis = Millis(5_000);
const TRIES_MAX: u32 = 3;
const AGAIN: Millis = Millis(1_000);
