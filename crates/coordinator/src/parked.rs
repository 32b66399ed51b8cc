//! Requests for work that found none: decided again when something concerns them.

use muster_engine::{Waiter, Woken};
use muster_model::{
    Command, FrameCommand, FrameReply, Name, PoolCommand, PoolReply, PoolWork, PoolWorkerId, Pull, Reply,
    Timestamp, UserId,
};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A waiting request.
pub(crate) struct Waiting<R> {
    pub(crate) work: WorkRequest,
    pub(crate) until: Timestamp,
    pub(crate) handle: R,
}

/// The part of a command that can be parked until work is available.
#[derive(Clone)]
pub(crate) enum WorkRequest {
    /// A node's, for device jobs (N1).
    Jobs(Pull),
    /// A worker's, for a range of frames (S3).
    Frames(Name),
    /// A pool worker's, for an assignment (P6).
    Assignment { worker: PoolWorkerId, owner: UserId, start: bool },
    /// A pool worker's, for several assignments (P19).
    Assignments { worker: PoolWorkerId, owner: UserId, start: bool, max: u32 },
}

impl WorkRequest {
    /// The request for work in a command, if the command may wait for it.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Pull(pull) if pull.max > 0 => {
                Some(Self::Jobs(Pull { worker: pull.worker.clone(), max: pull.max, devices: None }))
            }
            Command::Frames(FrameCommand::Ask { worker, supply: true }) => Some(Self::Frames(worker.clone())),
            Command::Pool(PoolCommand::Poll { worker, owner, start, supply: true }) => {
                Some(Self::Assignment { worker: *worker, owner: *owner, start: *start })
            }
            Command::Pool(PoolCommand::Work(work)) if work.supply && work.results.is_empty() => {
                let PoolWork { worker, owner, start, max, .. } = **work;
                Some(Self::Assignments { worker, owner, start, max })
            }
            _ => None,
        }
    }

    /// True if a reply brings no work, so that the request may wait.
    pub(crate) fn is_unmet(reply: &Reply) -> bool {
        match reply {
            Reply::Pulled(reply) => reply.nothing_new,
            Reply::Frames(FrameReply::Task(task)) => task.is_none(),
            Reply::Pool(PoolReply::Assignment(assignment)) => assignment.is_none(),
            Reply::Pool(PoolReply::Worked(worked)) => worked.assignments.is_empty(),
            _ => false,
        }
    }

    /// The command that decides the request again. Without `supply` it hands out nothing new, and so ends the wait.
    pub(crate) fn command(&self, supply: bool) -> Command {
        match *self {
            Self::Jobs(ref pull) => {
                Command::Pull(Pull { max: if supply { pull.max } else { 0 }, ..pull.clone() })
            }
            Self::Frames(ref worker) => FrameCommand::Ask { worker: worker.clone(), supply }.into(),
            Self::Assignment { worker, owner, start } => {
                PoolCommand::Poll { worker, owner, start, supply }.into()
            }
            Self::Assignments { worker, owner, start, max } => {
                PoolWork { worker, owner, results: Vec::new(), max, start, supply }.into()
            }
        }
    }

    /// The worker that asks.
    pub(crate) fn waiter(&self) -> Waiter {
        match self {
            Self::Jobs(pull) => Waiter::Node(pull.worker.clone()),
            Self::Frames(worker) => Waiter::Renderer(worker.clone()),
            Self::Assignment { worker, .. } | Self::Assignments { worker, .. } => Waiter::Member(*worker),
        }
    }
}

/// The number of requests of one worker that may wait, more than it has any use for, so that nobody fills the room for
/// all. Nodes are the operator's own and have no limit.
const fn waiting_max(waiter: &Waiter) -> usize {
    match waiter {
        Waiter::Node(_) => usize::MAX,
        Waiter::Renderer(_) => 16,
        Waiter::Member(_) => 64,
    }
}

/// All waiting requests, by worker and by the end of their wait.
pub(crate) struct Parked<R> {
    by_worker: BTreeMap<Waiter, VecDeque<u64>>,
    by_end: BTreeSet<(Timestamp, u64)>,
    requests: BTreeMap<u64, Waiting<R>>,
    next: u64,
}

impl<R> Default for Parked<R> {
    fn default() -> Self {
        Self { by_worker: BTreeMap::new(), by_end: BTreeSet::new(), requests: BTreeMap::new(), next: 0 }
    }
}

impl<R> Parked<R> {
    pub(crate) fn park(&mut self, waiting: Waiting<R>) {
        self.next += 1;
        self.by_worker.entry(waiting.work.waiter()).or_default().push_back(self.next);
        self.by_end.insert((waiting.until, self.next));
        self.requests.insert(self.next, waiting);
    }

    /// A worker's requests, oldest first.
    pub(crate) fn of(&self, waiter: &Waiter) -> Vec<u64> {
        self.by_worker.get(waiter).into_iter().flatten().copied().collect()
    }

    /// The oldest requests of a worker that must end before one more may wait.
    pub(crate) fn surplus(&self, waiter: &Waiter) -> Vec<u64> {
        let mut waiting = self.of(waiter);
        waiting.truncate((waiting.len() + 1).saturating_sub(waiting_max(waiter)));
        waiting
    }

    /// The requests that a wake-up concerns, oldest first.
    pub(crate) fn concerned(&self, woken: &Woken) -> Vec<u64> {
        if woken.all {
            return self.requests.keys().copied().collect();
        }
        let lines = woken.workers.iter().filter_map(|waiter| self.by_worker.get(waiter));
        let mut numbers: Vec<u64> = lines.flatten().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<Waiting<R>> {
        let waiting = self.requests.remove(&number)?;
        self.by_end.remove(&(waiting.until, number));
        let key = waiting.work.waiter();
        if let Some(line) = self.by_worker.get_mut(&key) {
            line.retain(|other| *other != number);
            if line.is_empty() {
                self.by_worker.remove(&key);
            }
        }
        Some(waiting)
    }

    pub(crate) fn get(&self, number: u64) -> Option<&Waiting<R>> {
        self.requests.get(&number)
    }

    /// The requests whose wait is over.
    pub(crate) fn expired(&self, now: Timestamp) -> Vec<u64> {
        self.by_end.iter().take_while(|(end, _)| *end <= now).map(|(_, number)| *number).collect()
    }

    pub(crate) fn next_end(&self) -> Option<Timestamp> {
        self.by_end.first().map(|(end, _)| *end)
    }

    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }

    pub(crate) fn waiters(&self) -> impl Iterator<Item = &Waiter> {
        self.by_worker.keys()
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.requests.keys().copied().collect()
    }
}
