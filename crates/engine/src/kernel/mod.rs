//! The parts that all domains share: decisions, timers, storage, planted bugs, the script language.
//!
//! A domain (devices, sessions of frames, the pool, accounts, schedules) has the same three parts:
//!
//! - `decide(&State, Command, &Context) -> Decided<Reply, Rejection>` computes the events of a command. It changes
//!   nothing. A command that needs several decisions (a pull, a batch of results) is a row of such steps: `execute`
//!   applies each step before it decides the next one.
//! - `apply(&mut State, &Event)` changes memory by one event. It refuses nothing and decides nothing.
//! - `take_due(&mut State, now)` takes the next due timer off the list; another `decide` says what follows from it.

#[cfg(test)]
pub(crate) mod script;
pub(crate) mod storage;

use crate::{Engine, Mutant, devices::state::State};
use alloc::{collections::BTreeSet, vec::Vec};
use muster_model::{
    AccountEvent, Event, Facts, FrameEvent, Name, PoolWorkerId, Rejection, Timestamp, UserId,
};

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

    /// The seed of the nth part of a command that is decided like a command of its own. No two parts share a number: a
    /// part has all those of one upper half.
    pub(crate) fn seed_of_part(&self, part: u64) -> [u8; 32] {
        let mut seed = *self.seed;
        let step: [u8; 16] = core::array::from_fn(|i| seed[16 + i]);
        let first: [u8; 16] = core::array::from_fn(|i| seed[i]);
        let offset = (u128::from_le_bytes(step) | 1).wrapping_mul(u128::from(part) << 64);
        let first = u128::from_le_bytes(first).wrapping_add(offset);
        seed[..16].copy_from_slice(&first.to_le_bytes());
        seed
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

/// All timers of a domain, soonest first. A timer is a hint: whoever it wakes looks at the state before deciding.
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

/// A worker whose requests for work can wait. Names of nodes and of workers of sessions may be alike.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Waiter {
    /// A node, for device jobs (N1).
    Node(Name),
    /// A worker of sessions, for a range of frames (S3).
    Renderer(Name),
    /// A worker of the pool, for assignments (P6, P19).
    Member(PoolWorkerId),
}

/// Changes that concern waiting requests.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Woken {
    /// All waiting requests should be decided again.
    pub all: bool,
    /// Workers whose requests should be decided again.
    pub workers: Vec<Waiter>,
    /// Workers whose requests must be answered at once, without new work. They come before those to be decided again.
    pub dismissed: Vec<Waiter>,
}

impl Engine {
    /// Takes the changes since the last call that concern waiting requests.
    pub fn take_woken(&mut self) -> Woken {
        let dirty = &mut self.state.dirty;
        let (all, woken) = (core::mem::take(&mut dirty.woken_all), dirty.woken.take());
        let dismissed = core::mem::take(&mut dirty.dismissed).into_iter().collect();
        if self.state.has_bug(Mutant::WakeLost) {
            return Woken { dismissed, ..Woken::default() };
        }
        let nodes = woken.into_iter().map(|ix| Waiter::Node(self.state.workers[ix].name.clone()));
        let mut workers: Vec<Waiter> = nodes.collect();
        workers.extend(self.state.farm.take_woken().into_iter().map(Waiter::Renderer));
        workers.extend(self.state.pool.take_woken().into_iter().map(Waiter::Member));
        Woken { all, workers, dismissed }
    }

    /// Notes that a request of a worker waits for work from now on. A node and a worker of the pool are there while one
    /// does (N15, P5).
    pub fn begin_waiting(&mut self, waiter: &Waiter) {
        match waiter {
            Waiter::Node(worker) => {
                if let Some(ix) = self.state.workers.ix(worker) {
                    self.state.workers[ix].waiting += 1;
                }
            }
            Waiter::Renderer(worker) => self.state.farm.begin_waiting(worker),
            Waiter::Member(worker) => self.state.pool.begin_waiting(*worker),
        }
    }

    /// Notes that a waiting request was answered or given up.
    pub fn end_waiting(&mut self, waiter: &Waiter, now: Timestamp) {
        match waiter {
            Waiter::Node(worker) => {
                if let Some(ix) = self.state.workers.ix(worker) {
                    let waiting = &mut self.state.workers[ix].waiting;
                    *waiting = waiting.checked_sub(1).expect("what ends has begun");
                }
            }
            Waiter::Renderer(worker) => self.state.farm.end_waiting(worker),
            Waiter::Member(worker) => self.state.pool.end_waiting(*worker, now),
        }
    }
}

impl State {
    /// Notes whose waiting requests an event ends.
    pub(crate) fn dismiss_waiting(&mut self, event: &Event) {
        match event {
            // The requests are those of the incarnation before: what there is belongs to the new one (S1).
            Event::Frames(FrameEvent::RendererRegistered { registration, .. }) => {
                self.dirty.dismissed.insert(Waiter::Renderer(registration.worker.clone()));
            }
            // The workers of an owner who is out of service are given nothing any more (P1).
            Event::Accounts(AccountEvent::UserChanged { user, change, .. })
                if change.active == Some(false) =>
            {
                let theirs = self.pool.waiting_of(*user).map(Waiter::Member);
                self.dirty.dismissed.extend(theirs);
            }
            _ => {}
        }
    }
}

impl crate::pool::Pool {
    fn waiting_of(&self, owner: UserId) -> impl Iterator<Item = PoolWorkerId> {
        let is_theirs =
            move |id: &PoolWorkerId| self.members.get(id).is_some_and(|member| member.owner == owner);
        self.waiting.values().copied().filter(is_theirs)
    }
}
