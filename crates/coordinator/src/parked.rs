//! Requests for work that found none: decided again when something concerns them.

use muster_engine::Woken;
use muster_model::{Command, FrameCommand, FrameReply, Name, Pull, Reply, Timestamp};
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// A waiting request.
pub(crate) struct Waiting<R> {
    pub(crate) asked: Asked,
    pub(crate) until: Timestamp,
    pub(crate) handle: R,
}

/// A request for work that can be decided again.
#[derive(Clone)]
pub(crate) enum Asked {
    /// A node's, for device jobs (N1).
    Jobs(Pull),
    /// A simulation worker's, for a range of frames (S3).
    Frames(Name),
}

impl Asked {
    /// What of a command would wait, if it finds nothing.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Pull(pull) if pull.max > 0 => {
                Some(Self::Jobs(Pull { worker: pull.worker.clone(), max: pull.max, devices: None }))
            }
            Command::Frames(FrameCommand::Ask { worker, supply: true }) => Some(Self::Frames(worker.clone())),
            _ => None,
        }
    }

    /// Whether an answer has nothing to say, so that the request may wait.
    pub(crate) fn is_unmet(reply: &Reply) -> bool {
        match reply {
            Reply::Pulled(reply) => reply.nothing_new,
            Reply::Frames(FrameReply::Task(task)) => task.is_none(),
            _ => false,
        }
    }

    /// The command that decides it again.
    pub(crate) fn again(&self) -> Command {
        match self {
            Self::Jobs(pull) => Command::Pull(pull.clone()),
            Self::Frames(worker) => {
                Command::Frames(FrameCommand::Ask { worker: worker.clone(), supply: true })
            }
        }
    }

    /// The command that ends the wait: what is there is told, nothing is handed out any more.
    pub(crate) fn last(self) -> Command {
        match self {
            Self::Jobs(pull) => Command::Pull(Pull { max: 0, ..pull }),
            Self::Frames(worker) => Command::Frames(FrameCommand::Ask { worker, supply: false }),
        }
    }

    /// Whose it is; names of nodes and of simulation workers may be alike.
    fn key(&self) -> Key {
        match self {
            Self::Jobs(pull) => (Kind::Jobs, pull.worker.clone()),
            Self::Frames(worker) => (Kind::Frames, worker.clone()),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Jobs,
    Frames,
}

type Key = (Kind, Name);

/// All waiting requests, by worker and by the end of their wait.
pub(crate) struct Parked<R> {
    by_worker: BTreeMap<Key, VecDeque<u64>>,
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
        self.by_worker.entry(waiting.asked.key()).or_default().push_back(self.next);
        self.by_end.insert((waiting.until, self.next));
        self.requests.insert(self.next, waiting);
    }

    /// A simulation worker's requests, oldest first.
    pub(crate) fn of_renderer(&self, worker: &Name) -> Vec<u64> {
        let line = self.by_worker.get(&(Kind::Frames, worker.clone()));
        line.into_iter().flatten().copied().collect()
    }

    /// The requests that a wake-up concerns, oldest first.
    pub(crate) fn concerned(&self, woken: &Woken) -> Vec<u64> {
        if woken.all {
            return self.requests.keys().copied().collect();
        }
        let jobs = woken.workers.iter().map(|worker| (Kind::Jobs, worker.clone()));
        let frames = woken.renderers.iter().map(|worker| (Kind::Frames, worker.clone()));
        let mut numbers: Vec<u64> =
            jobs.chain(frames).filter_map(|key| self.by_worker.get(&key)).flatten().copied().collect();
        numbers.sort_unstable();
        numbers
    }

    pub(crate) fn take(&mut self, number: u64) -> Option<Waiting<R>> {
        let waiting = self.requests.remove(&number)?;
        self.by_end.remove(&(waiting.until, number));
        let key = waiting.asked.key();
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

    pub(crate) fn workers(&self) -> impl Iterator<Item = &Name> {
        self.by_worker.keys().filter(|(kind, _)| *kind == Kind::Jobs).map(|(_, worker)| worker)
    }

    pub(crate) fn renderers(&self) -> impl Iterator<Item = &Name> {
        self.by_worker.keys().filter(|(kind, _)| *kind == Kind::Frames).map(|(_, worker)| worker)
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.requests.keys().copied().collect()
    }
}
