//! Invariants of the pool, each a function with a name.

use super::{Pool, state::Job};
use alloc::{collections::BTreeMap, format, string::String, vec::Vec};
use muster_model::{AssignmentId, Demand, PoolJobId, UserId};

type Broken = Result<(), String>;

impl Pool {
    /// Checks them all; says which is broken and where.
    pub(crate) fn check_invariants(&self) -> Broken {
        invariant_leases_are_held(self)?;
        invariant_leases_fit_their_worker(self)?;
        self.jobs.iter().try_for_each(|(id, job)| {
            invariant_attempts_are_bounded(*id, job)?;
            invariant_an_owner_votes_once(*id, job)
        })?;
        invariant_ready_jobs_stand_ready(self)?;
        invariant_clients_are_counted(self)
    }
}

/// Every lease stands with its job and with its worker, once (9).
fn invariant_leases_are_held(pool: &Pool) -> Broken {
    let held: usize = pool.members.values().map(|member| member.live.len()).sum();
    let mut leased = 0;
    for (id, lease) in pool.jobs.iter().flat_map(|(id, job)| job.leases.iter().map(move |lease| (id, lease)))
    {
        leased += 1;
        let member = pool.members.get(&lease.worker);
        let at_home = lease.id.job() == *id && member.is_some_and(|member| member.live.contains(&lease.id));
        check(at_home, || format!("assignment {} is not with its job and its worker", lease.id))?;
    }
    check(held == leased, || format!("workers hold {held} assignments, jobs have {leased}"))
}

/// A worker's leases fit its slots (2); one that is shut out has none (11).
fn invariant_leases_fit_their_worker(pool: &Pool) -> Broken {
    pool.members.iter().try_for_each(|(id, member)| {
        let fits = member.live.len() <= member.slots as usize;
        check(fits, || format!("worker {id} holds {} in {} slots", member.live.len(), member.slots))?;
        check(member.banned.is_none() || member.live.is_empty(), || {
            format!("worker {id} is banned and holds work")
        })
    })
}

/// Attempts stay within what the job may have (6).
fn invariant_attempts_are_bounded(id: PoolJobId, job: &Job) -> Broken {
    let bounded = job.used() <= job.max_attempts && job.given <= AssignmentId::PER_JOB_MAX;
    check(bounded, || format!("job {id} had {} of {} attempts", job.used(), job.max_attempts))
}

/// With redundancy no owner has a job twice (P15).
fn invariant_an_owner_votes_once(id: PoolJobId, job: &Job) -> Broken {
    if job.redundancy < 2 {
        return check(job.leases.len() < 2, || format!("job {id} is leased twice"));
    }
    let votes = job.votes.iter().map(|vote| vote.owner);
    let mut owners: Vec<UserId> = job.leases.iter().map(|lease| lease.owner).chain(votes).collect();
    owners.sort_unstable();
    let once = owners.windows(2).all(|pair| pair[0] != pair[1]);
    check(once, || format!("job {id} was given twice to one owner"))?;
    let had = owners.iter().all(|owner| job.had.contains(owner));
    check(had, || format!("job {id} forgot an owner who has it"))
}

/// The jobs that can be given out are those that stand ready, in the right class (13).
fn invariant_ready_jobs_stand_ready(pool: &Pool) -> Broken {
    let mut ready: Vec<PoolJobId> = pool.ready.all().map(|place| place.job).collect();
    check(ready.len() == pool.ready.len(), || String::from("the ready jobs are miscounted"))?;
    ready.sort_unstable();
    let waiting = pool.jobs.iter().filter(|(_, job)| job.wants() > 0).map(|(id, _)| *id);
    check(waiting.eq(ready), || String::from("the ready jobs are not those that want a worker"))?;
    pool.ready.all().try_for_each(|place| {
        let class = pool.jobs.get(&place.job).map(|job| (job.class, job.barred()));
        let right =
            class.is_some_and(|(class, barred)| class == place.class && pool.ready.barred(class) == barred);
        check(right, || format!("job {} stands in another class", place.job))
    })
}

fn invariant_clients_are_counted(pool: &Pool) -> Broken {
    let mut open: BTreeMap<UserId, u64> = BTreeMap::new();
    pool.jobs.values().for_each(|job| *open.entry(job.client).or_default() += 1);
    check(open == pool.open, || String::from("the open jobs of clients are miscounted"))?;
    let mut demands: BTreeMap<UserId, BTreeMap<Demand, u64>> = BTreeMap::new();
    for job in pool.jobs.values() {
        let demand = pool.ready.demand(job.class);
        if *demand != Demand::default() {
            *demands.entry(job.client).or_default().entry(demand.clone()).or_default() += 1;
        }
    }
    check(demands == pool.demands, || String::from("what the jobs of clients ask for is miscounted"))
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Broken {
    if holds { Ok(()) } else { Err(message()) }
}
