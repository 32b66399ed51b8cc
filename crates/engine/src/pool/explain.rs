//! Why a job is not done yet.

use super::{Pool, state::Member};
use alloc::collections::BTreeSet;
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
        let demand = self.ready.demand(job.class);
        let in_region = |member: &&Member| demand.region.is_none() || demand.region == member.region;
        let all = || self.members.values();
        if all().next().is_none() {
            return Some(PoolCause::NoWorkers);
        }
        if let Some(region) = demand.region.clone().filter(|_| !all().any(|member| in_region(&member))) {
            return Some(PoolCause::NoWorkerInRegion { region });
        }
        let able = || all().filter(in_region).filter(|member| member.specs.meet(&demand.requires));
        if able().next().is_none() {
            return Some(PoolCause::RequirementsUnmet);
        }
        let owners: BTreeSet<UserId> = able().map(|member| member.owner).collect();
        let allowed = |member: &&Member| self.ready.matches(job.class, member);
        if !able().any(|member| allowed(&member)) {
            let needed = count(job.barred().len()) + u32::from(job.wants());
            return Some(PoolCause::TooFewOwners { owners: count(owners.len()), needed });
        }
        let fit = || able().filter(allowed).filter(|member| member.may_work());
        if fit().next().is_none() {
            let away =
                |is: fn(&Member) -> bool| count(able().filter(allowed).filter(|member| is(member)).count());
            return Some(PoolCause::WorkersAway {
                offline: away(|member| member.banned.is_none() && !member.online),
                draining: away(|member| member.banned.is_none() && member.online && member.draining),
                banned: away(|member| member.banned.is_some()),
            });
        }
        let workers = count(fit().count());
        let free = fit().any(Member::has_free_slot);
        Some(if free { PoolCause::WaitingForPoll { workers } } else { PoolCause::WorkersBusy { workers } })
    }
}

fn count(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
