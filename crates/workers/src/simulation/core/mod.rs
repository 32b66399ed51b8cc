//! The worker's mind: registration, heartbeats, slots, reports, leaving. It has no clock, no disk and no network.
//!
//! Its driver tells it what happened (the methods below), takes what it wants done from [`Core::next_action`],
//! and wakes it at [`Core::next_wake`]. It never sees a secret: tokens are the driver's business.
//!
//! Its one promise: when the master must have given a worker up, because heartbeats fail, because the worker was asleep,
//! or because the master says so, everything that it holds is stopped before anything new is begun (S8).

mod action;
mod link;
mod work;

#[cfg(test)]
mod tests;

pub use action::{
    Action, Beat, End, Loss, Note, Offer, Over, Progress, Rebind, Registration, Report, Seen, Status, Work,
};
pub use muster_worker_kit::{Refusal, Trouble};

use link::{Away, Link};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::Text;
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
};
use work::{Done, Held, Phase, Pulls};

/// Settings of a worker.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of tasks that it holds at once.
    pub slots: u32,
    /// Time that a pull may wait at the master; nothing where the master pushes (S3).
    pub pull_wait: Option<Millis>,
    /// Directory that it may write to; nothing means everywhere.
    pub output_root: Option<PathBuf>,
}

/// The worker's mind.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    link: Link,
    /// True if it was ever registered: what is refused before that is a mistake of whoever started it.
    was_registered: bool,
    /// The newest term that was heard of; whoever speaks for an older one is not obeyed (S18).
    epoch: u64,
    /// State, as the master says.
    state: Text,
    /// Pace that the master allows.
    allowed: Ratio,
    /// Number of `pause` orders since the master last let it work.
    pauses: u32,
    /// The pace that was asked for last.
    pace: Ratio,
    works: BTreeMap<u64, Held>,
    done: Done,
    pulls: Pulls,
    frames: u64,
    last_frame: Option<u64>,
    farewell: Option<Farewell>,
    last_number: u64,
    actions: VecDeque<Action>,
}

impl Core {
    /// A worker that is about to register.
    #[must_use]
    pub fn new(settings: Settings, now: Timestamp) -> Self {
        let mut core = Self {
            settings,
            link: Link::Away(Away { next_at: now, ..Away::default() }),
            was_registered: false,
            epoch: 0,
            state: UNTOLD.into(),
            allowed: FULL,
            pauses: 0,
            pace: FULL,
            works: BTreeMap::new(),
            done: Done::default(),
            pulls: Pulls::default(),
            frames: 0,
            last_frame: None,
            farewell: None,
            last_number: 0,
            actions: VecDeque::new(),
        };
        core.settle(now);
        core
    }

    /// The next thing to be done outside, if anything is.
    pub fn next_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    /// Does what is due.
    pub fn wake(&mut self, now: Timestamp) {
        self.settle(now);
    }

    /// When it must be woken, whatever happens until then; nothing while all depends on others.
    #[must_use]
    pub fn next_wake(&self) -> Option<Timestamp> {
        let is_silent = self.farewell.as_ref().is_some_and(Farewell::is_silent);
        let link = match &self.link {
            Link::Away(away) => {
                Some(away.next_at).filter(|_| away.asking.is_none() && self.farewell.is_none())
            }
            Link::Bound(bound) => Some(bound.next_wake()).filter(|_| !is_silent),
        };
        let pull = self.wants_work().then_some(self.pulls.next_at);
        let works = self.works.values().filter_map(Held::next_wake);
        let farewell = self.farewell.as_ref().and_then(Farewell::next_wake);
        works.chain(link).chain(pull).chain(farewell).min()
    }

    /// Reason of the end, once nothing of the worker runs any more.
    #[must_use]
    pub fn over(&self) -> Option<&Over> {
        self.farewell.as_ref().filter(|farewell| farewell.is_said()).map(Farewell::why)
    }

    /// Status, for people.
    #[must_use]
    pub fn status(&self) -> Status {
        let (state, reachable) = match &self.link {
            Link::Away(_) => (None, false),
            Link::Bound(bound) => (Some(self.state.clone()), bound.is_reachable()),
        };
        Status {
            state,
            epoch: self.epoch,
            held: self.works.len(),
            pace: self.pace,
            frames: self.frames,
            reachable,
            leaving: self.farewell.is_some(),
        }
    }

    /// Everything that follows from what just happened.
    fn settle(&mut self, now: Timestamp) {
        self.fence(now);
        self.register(now);
        self.rebind(now);
        self.keep_pace();
        self.beat(now);
        self.tell(now);
        self.hand_in(now);
        self.take_leave(now);
        self.pull(now);
    }

    /// Says how fast to render, when that has changed.
    fn keep_pace(&mut self) {
        let pace = if self.pauses > 0 { STILL } else { self.allowed };
        if pace != self.pace {
            self.pace = pace;
            self.actions.push_back(Action::Pace(pace));
            self.note(Note::Paced(pace));
        }
    }

    fn note(&mut self, note: Note) {
        self.actions.push_back(Action::Note(note));
    }

    fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}

/// A worker that will take nothing more.
#[derive(Debug)]
struct Farewell {
    why: Over,
    /// After this nothing is waited for any more.
    until: Timestamp,
    step: Step,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Running work is ended; results of ended work are handed in.
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
    fn refused(refusal: Refusal, now: Timestamp) -> Self {
        Self { why: Over::Refused(refusal), until: now + PATIENCE, step: Step::Tidying }
    }

    fn why(&self) -> &Over {
        &self.why
    }

    fn is_said(&self) -> bool {
        self.step == Step::Said
    }

    /// True if the master shall hear no more signs of life: whoever was removed or has said good-bye, and goes on
    /// calling, is a zombie (S6).
    const fn is_silent(&self) -> bool {
        matches!(self.why, Over::Refused(_)) || !matches!(self.step, Step::Tidying)
    }

    fn next_wake(&self) -> Option<Timestamp> {
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
            Err(Trouble::NoAnswer(_)) if *tries < FAREWELL_TRIES_MAX => *next_at = now + FAREWELL_AGAIN,
            // A master that cannot be reached will notice the missing heartbeats.
            _ => *step = Step::Said,
        }
        self.settle(now);
    }

    /// Takes the next step of leaving.
    fn take_leave(&mut self, now: Timestamp) {
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

const FULL: Ratio = Ratio(1_000_000);
const STILL: Ratio = Ratio(0);
/// State of a worker until its first heartbeat is answered.
const UNTOLD: &str = "Registered";
/// Time for programs to end and results to be handed in.
const PATIENCE: Millis = Millis(5_000);
const FAREWELL_TRIES_MAX: u32 = 3;
const FAREWELL_AGAIN: Millis = Millis(1_000);
