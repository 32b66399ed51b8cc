//! The worker's mind: registration, heartbeats, slots, reports, leaving. It has no clock, no disk and no network.
//!
//! Whoever drives it tells it what happened (the methods below), takes what it wants done from [`Core::next_action`],
//! and wakes it at [`Core::next_wake`]. It never sees a secret: tokens are the driver's business.
//!
//! Its one promise: when the master must have given a worker up, because heartbeats fail, because the worker was asleep,
//! or because the master says so, everything that it holds is stopped before anything new is begun (S8).

mod action;
mod beat;
mod farewell;
mod link;
mod take;
mod work;

#[cfg(test)]
mod tests;

pub use action::{
    Action, Beat, End, Loss, Note, Offer, Over, Progress, Rebind, Registration, Report, Seen, Status, Work,
};
pub use muster_worker_kit::{Refusal, Trouble};

use farewell::Farewell;
use link::{Away, Link};
use muster_model::{Millis, Ratio, Timestamp};
use muster_worker_kit::Text;
use std::{
    collections::{BTreeMap, VecDeque},
    path::PathBuf,
};
use take::Pulls;
use work::{Done, Held};

/// What does not change while a worker lives.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How many tasks it holds at once.
    pub slots: u32,
    /// How long a pull may wait at the master; nothing where the master pushes (S3).
    pub pull_wait: Option<Millis>,
    /// Where it may write, if not everywhere.
    pub output_root: Option<PathBuf>,
}

/// The worker's mind.
#[derive(Debug)]
pub struct Core {
    settings: Settings,
    link: Link,
    /// Whether it was ever registered: what is refused before that is a mistake of whoever started it.
    was_registered: bool,
    /// The newest term that was heard of; whoever speaks for an older one is not obeyed (S18).
    epoch: u64,
    /// Where it stands, as the master says.
    state: Text,
    /// How fast the master lets it render.
    allowed: Ratio,
    /// How often the master said `pause` since it last let it work.
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

    /// Why it is over, once nothing of it runs any more.
    #[must_use]
    pub fn over(&self) -> Option<&Over> {
        self.farewell.as_ref().filter(|farewell| farewell.is_said()).map(Farewell::why)
    }

    /// How it is, for people.
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

const FULL: Ratio = Ratio(1_000_000);
const STILL: Ratio = Ratio(0);
/// What a worker is until its first heartbeat is answered.
const UNTOLD: &str = "Registered";
