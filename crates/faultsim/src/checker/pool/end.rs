//! P8, P13, P15: a job ends when it is over, once, and as it must; who is judged for it; once all is quiet, every job has ended
//! or is explained.

use super::{Before, PoolBook, Submitted, Verdict, ensure, grant::fits, submitted};
use muster_model::{
    AssignmentId, AssignmentState, PoolCause, PoolEndRecord, PoolJobId, PoolJobRecord, PoolJobStatus,
    PoolWorkerId, PoolWorkerRecord, UserId,
};
use std::collections::BTreeSet;

impl PoolBook {
    pub(super) fn check_ends(&mut self, before: &Before) -> Verdict {
        for id in &before.ends {
            let (end, job) = (self.rows.ends[id].clone(), self.rows.jobs[id].clone());
            self.check_end(&end, &job)?;
        }
        for id in &before.jobs {
            self.check_job(*id)?;
        }
        before.workers.keys().try_for_each(|id| self.check_judged(&self.rows.workers[id]))
    }

    fn check_end(&mut self, end: &PoolEndRecord, job: &PoolJobRecord) -> Verdict {
        ensure(end.client == job.client, "end_of_another", || format!("{end:?} of {job:?}"))?;
        match end.status {
            PoolJobStatus::Completed => {
                self.seen.count("pool job completed");
                self.check_completed(end, job)?;
                self.judge(end, job);
                Ok(())
            }
            PoolJobStatus::Failed => {
                self.seen.count("pool job failed");
                let used = self.rows.used(job.id);
                let last = AssignmentId::new(job.id, AssignmentId::PER_JOB_MAX);
                let is_spent =
                    used >= usize::from(job.max_attempts) || self.rows.assignments.contains_key(&last);
                ensure(is_spent, "failed_with_attempts_left", || format!("{job:?} after {used}"))?;
                ensure(self.winner(job).is_none(), "majority_ignored", || format!("{job:?}, {end:?}"))
            }
            _ => {
                self.seen.count("pool job cancelled");
                let asked = self.cancels.get(&job.id).into_iter().flatten();
                let is_asked = asked.copied().any(|by| by.is_none_or(|by| by == job.client));
                ensure(is_asked, "cancelled_by_nobody", || format!("{job:?}"))
            }
        }
    }

    /// 9: the result of a job is one that was taken; with redundancy, one that a majority agrees on.
    fn check_completed(&self, end: &PoolEndRecord, job: &PoolJobRecord) -> Verdict {
        let row = end.assignment.and_then(|id| self.rows.assignments.get(&id));
        let is_its = row.is_some_and(|row| row.id.job() == job.id && row.state == AssignmentState::Completed);
        ensure(is_its, "completed_with_nothing", || format!("{end:?} with {row:?}"))?;
        let won = row.and_then(submitted);
        let agreed = job.draft.redundancy < 2 || (won.is_some() && self.winner(job) == won);
        ensure(agreed, "minority_wins", || {
            let votes: Vec<_> = self.rows.votes(job.id).map(|(row, vote)| (row.worker, vote)).collect();
            format!("{end:?} of {} owners: {votes:?}", job.draft.redundancy)
        })
    }

    /// Output that has a majority of the requested redundancy, and of all submitted votes (P15).
    fn winner(&self, job: &PoolJobRecord) -> Option<Submitted<'_>> {
        let votes: Vec<Submitted<'_>> = self.rows.votes(job.id).map(|(_, vote)| vote).collect();
        let least = usize::from(job.draft.redundancy / 2) + 1;
        let count = |vote: &Submitted<'_>| votes.iter().filter(|other| *other == vote).count();
        votes.iter().copied().find(|vote| count(vote) >= least && count(vote) * 2 > votes.len())
    }

    /// A job whose result is there, or will never be, does not go on; one that is over has nobody at work.
    fn check_job(&self, id: PoolJobId) -> Verdict {
        let live = self.rows.of(id).find(|row| row.state.is_live());
        let Some(job) = self.rows.jobs.get(&id).filter(|_| self.rows.is_open(id)) else {
            return ensure(live.is_none(), "job_ends_with_live_assignments", || format!("{live:?}"));
        };
        let done = match job.draft.redundancy {
            0..2 => self.rows.of(id).any(|row| row.state == AssignmentState::Completed),
            _ => self.winner(job).is_some(),
        };
        ensure(!done, "completed_job_goes_on", || format!("{job:?}"))?;
        let used = self.rows.used(id);
        let is_spent = used >= usize::from(job.max_attempts) && live.is_none();
        ensure(!is_spent, "spent_job_goes_on", || format!("{job:?} after {used}"))
    }

    fn judge(&mut self, end: &PoolEndRecord, job: &PoolJobRecord) {
        let won = end.assignment.and_then(|id| submitted(&self.rows.assignments[&id]));
        let votes: Vec<(PoolWorkerId, bool)> =
            self.rows.votes(job.id).map(|(row, vote)| (row.worker, won == Some(vote))).collect();
        for (worker, agreed) in votes {
            let counts = if agreed { &mut self.agreed } else { &mut self.dissented };
            *counts.entry(worker).or_default() += 1;
        }
    }

    /// P15: reputation follows from majorities and nothing else; whoever told the truth is not shut out.
    fn check_judged(&self, row: &PoolWorkerRecord) -> Verdict {
        let of = |counts: &std::collections::BTreeMap<_, u32>| counts.get(&row.id).copied().unwrap_or(0);
        let (agreed, dissented) = (of(&self.agreed), of(&self.dissented));
        let is_forgiven = self.unbans.contains_key(&row.id);
        let right = row.agreements == agreed
            && (row.dissents == dissented || (is_forgiven && row.dissents < dissented));
        ensure(right, "reputation_miscounted", || format!("{row:?}: {agreed} agreed, {dissented} not"))?;
        let is_due = row.dissents >= self.settings.ban_after;
        ensure(!is_due || row.ban_reason.is_some(), "dissenter_not_banned", || format!("{row:?}"))?;
        let is_wronged = row.dissents > 0 || (row.ban_reason.is_some() && !self.bans.contains(&row.id));
        let is_innocent = self.innocent.contains(&*row.name);
        ensure(!is_innocent || !is_wronged, "innocent_judged", || format!("{row:?}"))
    }
}

impl PoolBook {
    /// True if every job has ended that some worker could do.
    pub(crate) fn is_quiet(&self) -> bool {
        self.rows.live.is_empty() && self.open().all(|job| !self.is_doable(job))
    }

    /// The last look: jobs that are still open are explained (P15).
    pub(crate) fn at_rest(&self, explain: impl Fn(PoolJobId) -> Option<PoolCause>) -> Verdict {
        for job in self.open() {
            let cause = explain(job.id);
            let is_right = matches!(
                cause,
                Some(
                    PoolCause::NoWorkers
                        | PoolCause::NoWorkerInRegion { .. }
                        | PoolCause::RequirementsUnmet
                        | PoolCause::TooFewOwners { .. }
                )
            );
            ensure(is_right, "pool_job_unexplained", || format!("{job:?}: {cause:?}"))?;
        }
        Ok(())
    }

    /// Describes the rows that keep the ledger from being quiet.
    pub(in crate::checker) fn unrest(&self) -> String {
        let open: Vec<&PoolJobRecord> = self.open().filter(|job| self.is_doable(job)).collect();
        let live: Vec<_> = self.rows.live.iter().filter_map(|id| self.rows.assignments.get(id)).collect();
        let workers = self.rows.workers.values();
        let workers: Vec<_> = workers.map(|row| (row.id, row.status, row.draining)).collect();
        format!("pool jobs {open:?}, assignments {live:?}, workers {workers:?}")
    }

    fn open(&self) -> impl Iterator<Item = &PoolJobRecord> {
        self.rows.jobs.values().filter(|job| !self.rows.ends.contains_key(&job.id))
    }

    /// True if somebody could do a job whose owner was not asked before, where that counts (P15).
    fn is_doable(&self, job: &PoolJobRecord) -> bool {
        let asked = self.rows.of(job.id).filter(|row| row.state != AssignmentState::Revoked);
        let asked = asked.filter(|_| job.draft.redundancy > 1);
        let asked: BTreeSet<UserId> = asked.map(|row| row.owner).collect();
        self.rows.workers.values().any(|worker| fits(job, worker) && !asked.contains(&worker.owner))
    }
}
