//! P8, P15: decides how a job ends from its results.

use super::{
    Pool,
    state::{Job, Vote},
};
use crate::Mutant;
use alloc::{boxed::Box, vec::Vec};
use muster_model::{AssignmentId, PoolJobStatus, PoolResult, PoolWorkerId};

/// End of a job.
pub(super) struct Verdict {
    pub(super) status: PoolJobStatus,
    pub(super) assignment: Option<AssignmentId>,
    pub(super) error: Option<Box<str>>,
    /// The hash that won.
    hash: Option<Box<str>>,
}

/// A non-empty message says that it failed (P8).
pub(super) fn has_failed(result: &PoolResult) -> bool {
    result.error.as_ref().is_some_and(|message| !message.is_empty())
}

/// Verdict on a job now that one of its assignments ended, with this result or with none; `None` while it is open.
pub(super) fn judge(pool: &Pool, job: &Job, result: Option<&PoolResult>) -> Option<Verdict> {
    let failed = result.is_none_or(has_failed);
    if let Some(result) = result.filter(|_| !failed && job.redundancy < 2) {
        let (status, assignment) = (PoolJobStatus::Completed, Some(result.assignment));
        return Some(Verdict { status, assignment, error: None, hash: None });
    }
    if let Some(winner) = majority(pool, job) {
        let (status, hash) = (PoolJobStatus::Completed, Some(winner.hash.clone()));
        return Some(Verdict { status, assignment: Some(winner.id), error: None, hash });
    }
    let open = job.wants() > 0 || !job.leases.is_empty();
    if open && !pool.has_bug(Mutant::PoolFailsEarly) {
        return None;
    }
    let assignment = result.filter(|_| failed).map(|result| result.assignment);
    let error = match (assignment, job.votes.is_empty()) {
        (Some(_), _) => None,
        (None, true) => Some("no worker finished it in time"),
        (None, false) => Some("no majority of the workers agreed on a result"),
    };
    Some(Verdict { status: PoolJobStatus::Failed, assignment, error: error.map(Box::from), hash: None })
}

/// The first vote for the hash that more than half of those cast agree on, and a majority of those asked for.
fn majority<'j>(pool: &Pool, job: &'j Job) -> Option<&'j Vote> {
    let quorum = match pool.has_bug(Mutant::MinorityWins) {
        true => 1,
        false => usize::from(job.redundancy / 2) + 1,
    };
    let votes = |hash: &str| job.votes.iter().filter(|vote| &*vote.hash == hash).count();
    job.votes.iter().find(|vote| {
        let agreeing = votes(&vote.hash);
        let enough = agreeing * 2 > job.votes.len() || pool.has_bug(Mutant::MinorityWins);
        agreeing >= quorum && enough
    })
}

/// Workers that voted, and whether each agreed with the outcome. Without a majority nobody is judged.
pub(super) fn judged(pool: &Pool, job: &Job, verdict: &Verdict) -> Vec<(PoolWorkerId, bool)> {
    let Some(hash) = &verdict.hash else {
        let blamed = job.votes.iter().filter(|_| pool.has_bug(Mutant::DissentWithoutMajority));
        return blamed.map(|vote| (vote.worker, false)).collect();
    };
    job.votes.iter().map(|vote| (vote.worker, vote.hash == *hash)).collect()
}
