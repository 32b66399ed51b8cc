//! State of the pool: workers, open jobs, leases.

use super::ready::{ClassIx, Ready};
use crate::kernel::{Map, PlantedBug, Timers};
use alloc::{
    boxed::Box,
    collections::{BTreeMap, BTreeSet, VecDeque},
    vec::Vec,
};
use muster_model::{
    AssignmentId, AssignmentRecord, Demand, Fence, Millis, PoolChange, PoolCounters, PoolEndRecord,
    PoolJobId, PoolKeyRecord, PoolRegistration, PoolSettings, PoolStatus, PoolWorkerId, PoolWorkerStatus,
    Specs, SubmissionKey, Timestamp, UserId,
};

/// Everything live of contract P.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pool {
    pub(crate) settings: PoolSettings,
    pub(crate) next_worker: u64,
    pub(crate) next_job: u64,
    pub(crate) members: BTreeMap<PoolWorkerId, Member>,
    pub(crate) names: Map<Box<str>, PoolWorkerId>,
    /// Open jobs; a smaller number is older.
    pub(crate) jobs: BTreeMap<PoolJobId, Job>,
    /// Open jobs by client.
    pub(crate) open: BTreeMap<UserId, u64>,
    /// Demands of each client's open jobs, with the number of jobs; those that ask for nothing are left out.
    pub(crate) demands: BTreeMap<UserId, BTreeMap<Demand, u64>>,
    /// Workers by owner.
    pub(crate) owned: BTreeMap<UserId, usize>,
    pub(crate) ready: Ready,
    pub(crate) timers: Timers<PoolTimer>,
    /// Requests that wait for work, in the order they came.
    pub(crate) waiting: BTreeMap<u64, PoolWorkerId>,
    /// Number of the last request that waited.
    pub(crate) last_waiting: u64,
    pub(crate) recent: RecentPool,
    pub(crate) dirty: DirtyPool,
    pub(crate) bug: PlantedBug,
}

/// Timers: each names what to look at when it is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PoolTimer {
    /// Is this worker silent, or its leases over (P5)?
    Member(PoolWorkerId),
    /// Has this job taken too long (P5)?
    Timeout(AssignmentId),
}

/// A worker of the pool.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    pub(crate) owner: UserId,
    pub(crate) name: Box<str>,
    pub(crate) region: Option<Box<str>>,
    pub(crate) specs: Specs,
    /// Not written to the store yet.
    pub(crate) specs_json: Option<Box<str>>,
    pub(crate) public_key: Option<Box<str>>,
    pub(crate) slots: u32,
    pub(crate) online: bool,
    pub(crate) draining: bool,
    /// Reason why it is shut out.
    pub(crate) banned: Option<Box<str>>,
    pub(crate) agreements: u32,
    pub(crate) dissents: u32,
    pub(crate) last_seen: Option<Timestamp>,
    /// From when its silence counts: the last heartbeat or poll, or the beginning of the term.
    pub(crate) heard: Timestamp,
    pub(crate) created_at: Timestamp,
    /// Its live assignments.
    pub(crate) live: Vec<AssignmentId>,
    /// Requests of it that wait.
    pub(crate) waiting: VecDeque<u64>,
    /// Time when it is next looked at.
    pub(crate) armed: Option<Timestamp>,
}

/// A job that is not over.
#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) client: UserId,
    pub(crate) priority: u8,
    pub(crate) class: ClassIx,
    pub(crate) max_attempts: u8,
    pub(crate) redundancy: u8,
    /// Results are refused whose hash is not that of their output; always so with redundancy (P11, P15).
    pub(crate) verify: bool,
    pub(crate) timeout: Option<Millis>,
    /// Assignments so far.
    pub(crate) given: u8,
    /// Those of them that do not count as attempts.
    pub(crate) forgiven: u8,
    pub(crate) leases: Vec<Lease>,
    /// With redundancy: owners who have or had it; what was taken back from them does not count (P15).
    pub(crate) had: Vec<UserId>,
    /// With redundancy: the votes so far (P15).
    pub(crate) votes: Vec<Vote>,
    /// Stands among those that can be given out.
    pub(crate) waits: bool,
}

/// A live assignment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lease {
    pub(crate) id: AssignmentId,
    pub(crate) worker: PoolWorkerId,
    pub(crate) owner: UserId,
    pub(crate) fence: Fence,
    pub(crate) started: bool,
    pub(crate) granted_at: Timestamp,
    pub(crate) timeout_at: Option<Timestamp>,
}

/// The computed hash of what one owner's worker submitted (P15).
#[derive(Clone, Debug)]
pub(crate) struct Vote {
    pub(crate) id: AssignmentId,
    pub(crate) worker: PoolWorkerId,
    pub(crate) owner: UserId,
    pub(crate) hash: Box<str>,
}

/// Decisions that may not be committed yet, remembered until the store can be asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct RecentPool {
    pub(crate) ends: Map<PoolJobId, PoolEndRecord>,
    pub(crate) assignments: Map<AssignmentId, Box<AssignmentRecord>>,
    pub(crate) keys: Map<(UserId, SubmissionKey), PoolKeyRecord>,
}

/// Marks left by applying events.
#[derive(Clone, Debug, Default)]
pub(crate) struct DirtyPool {
    pub(crate) history: Vec<PoolChange>,
    pub(crate) members: BTreeSet<PoolWorkerId>,
    /// Leases that were granted or began.
    pub(crate) leases: BTreeSet<AssignmentId>,
    pub(crate) counters: PoolCounters,
    pub(crate) sighted: BTreeSet<PoolWorkerId>,
    /// Jobs by class that can be given out since those who wait were last looked at.
    pub(crate) fresh: BTreeMap<ClassIx, usize>,
    /// Members who may have become able to take something.
    pub(crate) freed: BTreeSet<PoolWorkerId>,
    /// Members whose dissents may be too many.
    pub(crate) judged: BTreeSet<PoolWorkerId>,
}

impl Pool {
    /// An empty pool.
    pub(crate) fn new(settings: PoolSettings) -> Self {
        Self { settings, next_worker: 1, next_job: 1, ..Self::default() }
    }

    pub(crate) fn has_bug(&self, mutant: crate::Mutant) -> bool {
        self.bug.is(mutant)
    }

    pub(crate) fn lease(&self, id: AssignmentId) -> Option<&Lease> {
        self.jobs.get(&id.job())?.leases.iter().find(|lease| lease.id == id)
    }

    pub(crate) fn lease_mut(&mut self, id: AssignmentId) -> Option<&mut Lease> {
        self.jobs.get_mut(&id.job())?.leases.iter_mut().find(|lease| lease.id == id)
    }

    /// True if a lease is over at this moment, by silence or by its job's own limit (P5).
    pub(crate) fn is_over(&self, lease: &Lease, now: Timestamp) -> bool {
        let silent = self
            .members
            .get(&lease.worker)
            .is_none_or(|member| member.waiting.is_empty() && member.heard + self.settings.lease <= now);
        silent || lease.timeout_at.is_some_and(|end| end <= now)
    }

    /// Sets the timer that looks at a worker, unless an earlier one is set.
    pub(crate) fn arm(&mut self, id: PoolWorkerId) {
        if let Some(member) = self.members.get_mut(&id)
            && let Some(next) = member.next_look(&self.settings)
        {
            self.timers.arm(&mut member.armed, next, PoolTimer::Member(id));
        }
    }

    /// Counts what there is, for the metrics.
    pub(crate) fn status(&self) -> PoolStatus {
        let count = |status: PoolWorkerStatus| {
            let of_it = self.members.values().filter(|member| member.status() == status);
            (status, of_it.count() as u64)
        };
        PoolStatus {
            workers: PoolWorkerStatus::ALL.iter().copied().map(count).collect(),
            open: self.jobs.len() as u64,
            waiting: self.ready.len() as u64,
            assignments: self.members.values().map(|member| member.live.len() as u64).sum(),
            polls: self.waiting.len() as u64,
        }
    }

    /// Takes the next due timer. An open request is a sign of life for as long as it is open.
    pub(crate) fn take_due(&mut self, now: Timestamp) -> Option<PoolTimer> {
        let timer = self.timers.take_due(now)?;
        if let PoolTimer::Member(worker) = timer
            && let Some(member) = self.members.get_mut(&worker)
        {
            member.armed = None;
            if !member.waiting.is_empty() {
                member.heard = now;
            }
        }
        Some(timer)
    }
}

impl Member {
    /// A worker that has not been heard of yet.
    pub(crate) fn new(registration: PoolRegistration, at: Timestamp) -> Self {
        let PoolRegistration { owner, name, region, specs, specs_json, public_key, slots } = registration;
        Self {
            owner,
            name,
            region,
            specs,
            specs_json,
            public_key,
            slots,
            online: false,
            draining: false,
            banned: None,
            agreements: 0,
            dissents: 0,
            last_seen: None,
            heard: at,
            created_at: at,
            live: Vec::new(),
            waiting: VecDeque::new(),
            armed: None,
        }
    }

    /// Time when something may follow from its silence.
    fn next_look(&self, settings: &PoolSettings) -> Option<Timestamp> {
        let offline = self.online.then(|| self.heard + settings.offline_after);
        let lapse = (!self.live.is_empty()).then(|| self.heard + settings.lease);
        offline.into_iter().chain(lapse).min()
    }

    /// Its status.
    pub(crate) fn status(&self) -> PoolWorkerStatus {
        match (&self.banned, self.online) {
            (Some(_), _) => PoolWorkerStatus::Banned,
            (None, true) => PoolWorkerStatus::Online,
            (None, false) => PoolWorkerStatus::Offline,
        }
    }

    /// True if it may be given work at all (P14).
    pub(crate) fn may_work(&self) -> bool {
        self.online && self.banned.is_none() && !self.draining
    }

    pub(crate) fn has_free_slot(&self) -> bool {
        self.live.len() < self.slots as usize
    }
}

impl Job {
    /// Attempts that count.
    pub(crate) fn used(&self) -> u8 {
        self.given.saturating_sub(self.forgiven)
    }

    /// Number of workers it may still be given to now (P15): as many as it asks for, and when these disagree one after
    /// the other, while attempts are left.
    pub(crate) fn wants(&self) -> u8 {
        let (votes, live) = (count(self.votes.len()), count(self.leases.len()));
        let missing = match votes < self.redundancy {
            true => self.redundancy.saturating_sub(votes).saturating_sub(live),
            false => u8::from(live == 0),
        };
        let left = self.max_attempts.saturating_sub(self.used());
        missing.min(left).min(AssignmentId::PER_JOB_MAX - self.given.min(AssignmentId::PER_JOB_MAX))
    }

    /// Owners who have or had it, sorted: with redundancy each is given it at most once, whatever came of it, so that
    /// no single owner uses up its attempts (P15).
    pub(crate) fn barred(&self) -> Vec<UserId> {
        let mut owners = self.had.clone();
        owners.sort_unstable();
        owners.dedup();
        owners
    }
}

fn count(len: usize) -> u8 {
    u8::try_from(len).unwrap_or(u8::MAX)
}
