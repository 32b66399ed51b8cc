//! Why a job is not done yet.

use super::{
    Pool,
    state::{Job, Member},
};
use alloc::{boxed::Box, collections::BTreeSet};
use muster_model::{PoolCause, PoolJobId, UserId};

impl Pool {
    /// The one thing a job waits for; `None` when memory does not know it.
    pub(crate) fn explain(&self, id: PoolJobId) -> Option<PoolCause> {
        if let Some(end) = self.recent.ends.get(&id) {
            return Some(PoolCause::Ended { status: end.status });
        }
        let job = self.jobs.get(&id)?;
        if !job.waits {
            return Some(PoolCause::Running { assignments: count(job.leases.len()) });
        }
        Some(self.look_round(job).cause(self.ready.demand(job.class).region.clone()))
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

/// Who could do a job, and who cannot.
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
