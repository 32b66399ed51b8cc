//! Requests for work that found none: decided again when something concerns them.

use muster_engine::Woken;
use muster_model::{
    Command, FrameCommand, FrameReply, Name, PoolCommand, PoolReply, PoolWork, PoolWorkReply, PoolWorkerId,
    Pull, Reply, Timestamp, UserId,
};
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
    /// A worker's of the pool, for an assignment (P6), or (`max`) for several (P19).
    Pool { worker: PoolWorkerId, owner: UserId, start: bool, max: Option<u32> },
}

impl Asked {
    /// What of a command would wait, if it finds nothing.
    pub(crate) fn of(command: &Command) -> Option<Self> {
        match command {
            Command::Pull(pull) if pull.max > 0 => {
                Some(Self::Jobs(Pull { worker: pull.worker.clone(), max: pull.max, devices: None }))
            }
            Command::Frames(FrameCommand::Ask { worker, supply: true }) => Some(Self::Frames(worker.clone())),
            Command::Pool(PoolCommand::Poll { worker, owner, start, supply: true }) => {
                Some(Self::Pool { worker: *worker, owner: *owner, start: *start, max: None })
            }
            Command::Pool(PoolCommand::Work(work)) if work.supply && work.results.is_empty() => {
                let PoolWork { worker, owner, start, max, .. } = **work;
                Some(Self::Pool { worker, owner, start, max: Some(max) })
            }
            _ => None,
        }
    }

    /// Whether an answer has nothing to say, so that the request may wait.
    pub(crate) fn is_unmet(reply: &Reply) -> bool {
        match reply {
            Reply::Pulled(reply) => reply.nothing_new,
            Reply::Frames(FrameReply::Task(task)) => task.is_none(),
            Reply::Pool(PoolReply::Assignment(assignment)) => assignment.is_none(),
            Reply::Pool(PoolReply::Worked(PoolWorkReply { assignments, .. })) => assignments.is_empty(),
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
            Self::Pool { .. } => self.poll(true),
        }
    }

    /// The command that ends the wait: what is there is told, nothing is handed out any more.
    pub(crate) fn last(self) -> Command {
        match self {
            Self::Jobs(pull) => Command::Pull(Pull { max: 0, ..pull }),
            Self::Frames(worker) => Command::Frames(FrameCommand::Ask { worker, supply: false }),
            Self::Pool { .. } => self.poll(false),
        }
    }

    fn poll(&self, supply: bool) -> Command {
        let Self::Pool { worker, owner, start, max } = *self else {
            return Command::Tick;
        };
        Command::Pool(match max {
            None => PoolCommand::Poll { worker, owner, start, supply },
            Some(max) => {
                let results = Vec::new();
                PoolCommand::Work(Box::new(PoolWork { worker, owner, results, max, start, supply }))
            }
        })
    }

    /// Whose it is; names of nodes and of simulation workers may be alike.
    fn key(&self) -> Key {
        match self {
            Self::Jobs(pull) => Key::Jobs(pull.worker.clone()),
            Self::Frames(worker) => Key::Frames(worker.clone()),
            Self::Pool { worker, .. } => Key::Pool(*worker),
        }
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Jobs(Name),
    Frames(Name),
    Pool(PoolWorkerId),
}

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
        self.line(&Key::Frames(worker.clone()))
    }

    /// The requests of a worker of the pool, oldest first.
    pub(crate) fn of_member(&self, worker: PoolWorkerId) -> Vec<u64> {
        self.line(&Key::Pool(worker))
    }

    /// The requests of all workers of an owner of the pool, oldest first.
    pub(crate) fn of_owner(&self, user: UserId) -> Vec<u64> {
        let theirs = |asked: &Asked| matches!(asked, Asked::Pool { owner, .. } if *owner == user);
        let theirs = self.requests.iter().filter(|(_, waiting)| theirs(&waiting.asked));
        theirs.map(|(number, _)| *number).collect()
    }

    fn line(&self, key: &Key) -> Vec<u64> {
        self.by_worker.get(key).into_iter().flatten().copied().collect()
    }

    /// The requests that a wake-up concerns, oldest first.
    pub(crate) fn concerned(&self, woken: &Woken) -> Vec<u64> {
        if woken.all {
            return self.requests.keys().copied().collect();
        }
        let jobs = woken.workers.iter().cloned().map(Key::Jobs);
        let frames = woken.renderers.iter().cloned().map(Key::Frames);
        let pool = woken.members.iter().copied().map(Key::Pool);
        let lines = jobs.chain(frames).chain(pool).filter_map(|key| self.by_worker.get(&key));
        let mut numbers: Vec<u64> = lines.flatten().copied().collect();
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
        self.by_worker.keys().filter_map(|key| match key {
            Key::Jobs(worker) => Some(worker),
            _ => None,
        })
    }

    pub(crate) fn renderers(&self) -> impl Iterator<Item = &Name> {
        self.by_worker.keys().filter_map(|key| match key {
            Key::Frames(worker) => Some(worker),
            _ => None,
        })
    }

    pub(crate) fn members(&self) -> impl Iterator<Item = PoolWorkerId> {
        self.by_worker.keys().filter_map(|key| match key {
            Key::Pool(worker) => Some(*worker),
            _ => None,
        })
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.requests.keys().copied().collect()
    }
}
