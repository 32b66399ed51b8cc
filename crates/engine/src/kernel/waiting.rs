//! Requests that wait for work: who waits, who is woken, and whose wait is over.

use crate::{Engine, Mutant, devices::state::State};
use alloc::vec::Vec;
use muster_model::{AccountEvent, Event, FrameEvent, Name, PoolWorkerId, Timestamp, UserId};

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
        let (all, woken) = (core::mem::take(&mut dirty.woken_all), core::mem::take(&mut dirty.woken));
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
