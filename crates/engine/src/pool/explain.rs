//! Reason why a job is not done yet, and what a worker does or waits for (P15, Q16).

use super::{
    Pool,
    state::{Job, Member},
};
use alloc::{boxed::Box, collections::BTreeSet};
use muster_model::{MemberCause, PoolCause, PoolJobId, PoolWorkerId, UserId};

impl Pool {
    /// The one thing a job waits for; `None` when memory does not know it.
    pub(crate) fn explain(&self, id: PoolJobId) -> Option<PoolCause> {
        if let Some(end) = self.recent.ends.get(&id) {
            return Some(PoolCause::Ended { status: end.status });
        }
        let job = self.jobs.get(&id)?;
        if !job.waits {
            return Some(self.given_out(job));
        }
        let cause = self.look_round(job).cause(self.ready.demand(job.class).region.clone());
        Some(match cause {
            PoolCause::WaitingForPoll { .. } => self.goes_first(id, job).unwrap_or(cause),
            cause => cause,
        })
    }

    /// Explains what a worker does or waits for; `None` when there is no such worker.
    pub(crate) fn explain_member(&self, id: PoolWorkerId) -> Option<MemberCause> {
        let member = self.members.get(&id)?;
        let (running, slots) = (count(member.live.len()), member.slots);
        Some(match &member.banned {
            Some(reason) => MemberCause::Banned { reason: reason.clone() },
            None if !member.online => MemberCause::Offline { since: member.heard },
            None if member.draining => MemberCause::Draining { running },
            None if !member.has_free_slot() => MemberCause::Full { running, slots },
            None if running > 0 => MemberCause::Running { running, slots },
            None => match (self.ready.next_for(member), self.ready.len()) {
                (Some(job), _) => MemberCause::Idle { job },
                (None, 0) => MemberCause::NoJobs,
                (None, waiting) => MemberCause::NoMatchingJob { waiting: waiting as u64 },
            },
        })
    }

    /// A job that is out with workers: if all of them are silent, it waits for the first lease to be over.
    fn given_out(&self, job: &Job) -> PoolCause {
        let silent = |worker: &PoolWorkerId| self.members.get(worker).filter(|member| !member.online);
        let holders = || job.leases.iter().map(|lease| lease.worker);
        let over =
            holders().filter_map(|worker| Some((silent(&worker)?.heard + self.settings.lease, worker)));
        match over.min() {
            Some((until, worker)) if holders().all(|worker| silent(&worker).is_some()) => {
                PoolCause::LeaseOut { worker, until }
            }
            _ => PoolCause::Running { assignments: count(job.leases.len()) },
        }
    }

    /// The job that whoever asks next would get before this one; `None` when somebody would get this one.
    fn goes_first(&self, id: PoolJobId, job: &Job) -> Option<PoolCause> {
        const WORKERS_LOOKED_AT: usize = 100;
        let free = self.members.values().filter(|member| member.may_work() && member.has_free_slot());
        let able = free.filter(|member| self.ready.matches(job.class, member)).take(WORKERS_LOOKED_AT);
        let mut first = None;
        for next in able.filter_map(|member| self.ready.next_for(member)) {
            if next == id {
                return None;
            }
            first.get_or_insert(next);
        }
        let (first, other) = first.and_then(|first| Some((first, self.jobs.get(&first)?)))?;
        Some(if other.priority > job.priority {
            PoolCause::HigherPriorityFirst { job: first, priority: other.priority }
        } else if other.client == job.client {
            PoolCause::OlderJobFirst { job: first }
        } else {
            PoolCause::ClientsTurn { job: first }
        })
    }

    /// Counts, in one pass, what stands between a job and every worker.
    fn look_round(&self, job: &Job) -> Round {
        let demand = self.ready.demand(job.class);
        let mut round = Round { needed: count(job.had.len()) + u32::from(job.wants()), ..Round::default() };
        for member in self.members.values() {
            round.all += 1;
            if demand.region.is_some() && demand.region != member.region {
                continue;
            }
            round.in_region += 1;
            if !member.specs.meet(&demand.requires) {
                continue;
            }
            round.owners.insert(member.owner);
            if self.ready.matches(job.class, member) {
                round.count(member);
            }
        }
        round
    }
}

/// Counts the workers that could do a job, and those that cannot.
#[derive(Default)]
struct Round {
    all: u32,
    in_region: u32,
    /// Of workers that have what it requires.
    owners: BTreeSet<UserId>,
    needed: u32,
    offline: u32,
    draining: u32,
    banned: u32,
    busy: u32,
    free: u32,
}

impl Round {
    fn count(&mut self, member: &Member) {
        let counter = match (&member.banned, member.online, member.draining, member.has_free_slot()) {
            (Some(_), ..) => &mut self.banned,
            (None, false, ..) => &mut self.offline,
            (None, true, true, _) => &mut self.draining,
            (None, true, false, false) => &mut self.busy,
            (None, true, false, true) => &mut self.free,
        };
        *counter += 1;
    }

    fn cause(self, region: Option<Box<str>>) -> PoolCause {
        let Self { offline, draining, banned, busy, free, .. } = self;
        let owners = count(self.owners.len());
        match region {
            _ if self.all == 0 => PoolCause::NoWorkers,
            Some(region) if self.in_region == 0 => PoolCause::NoWorkerInRegion { region },
            _ if owners == 0 => PoolCause::RequirementsUnmet,
            _ if free > 0 => PoolCause::WaitingForPoll { workers: busy + free },
            _ if busy > 0 => PoolCause::WorkersBusy { workers: busy },
            _ if offline + draining + banned > 0 => PoolCause::WorkersAway { offline, draining, banned },
            _ => PoolCause::TooFewOwners { owners, needed: self.needed },
        }
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
