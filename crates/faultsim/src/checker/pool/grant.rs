//! P14, P15, invariants 2, 6 and 11: whom assignments are given to, and whose turn it is.

use super::{Before, PoolBook, Served, Verdict, ensure};
use muster_model::{
    AssignmentRecord, AssignmentState, PoolJobRecord, PoolWorkerId, PoolWorkerRecord, Quality, Timestamp,
    UserId,
};

impl PoolBook {
    pub(super) fn check_grants(&mut self, before: &Before) -> Verdict {
        let new = before.assignments.iter().filter(|(_, old)| old.is_none());
        let mut new: Vec<AssignmentRecord> = new.map(|(id, _)| self.rows.assignments[id].clone()).collect();
        new.sort_by_key(|row| (row.granted_at, row.id));
        for row in &new {
            self.note_turn(row);
        }
        for row in &new {
            self.check_grant(row)?;
            self.check_turn(row, before)?;
        }
        before.workers.keys().chain(new.iter().map(|row| &row.worker)).try_for_each(|id| self.check_held(*id))
    }

    fn check_grant(&self, row: &AssignmentRecord) -> Verdict {
        let job = self.rows.jobs.get(&row.id.job());
        let worker = self.rows.workers.get(&row.worker);
        let (Some(job), Some(worker)) = (job, worker) else {
            return ensure(false, "grant_of_nothing", || format!("{row:?} of {job:?} to {worker:?}"));
        };
        ensure(worker.owner == row.owner, "grant_to_another_owner", || format!("{row:?} to {worker:?}"))?;
        ensure(fits(job, worker), "grant_to_unfit", || format!("{job:?} to {worker:?}"))?;
        let limit = job.draft.timeout.map(|limit| row.granted_at + limit);
        ensure(row.timeout_at == limit, "limit_forgotten", || format!("{row:?} of {job:?}"))?;
        let is_late = self.rows.ends.get(&job.id).is_some_and(|end| end.at < row.granted_at);
        ensure(!is_late, "grant_of_ended_job", || format!("{row:?}"))?;
        self.check_standing(row)?;
        self.check_others(row, job)
    }

    /// Checks that a worker that is banned or draining gets no work.
    fn check_standing(&self, row: &AssignmentRecord) -> Verdict {
        let id = &row.worker;
        let lifted = |since: &Timestamp, by: Option<&Timestamp>| by.is_some_and(|by| by >= since);
        let banned = self.banned_since.get(id).filter(|since| **since < row.granted_at);
        let banned = banned.filter(|since| !lifted(since, self.unbans.get(id)));
        ensure(banned.is_none(), "grant_to_banned", || format!("{row:?}"))?;
        let draining = self.draining_since.get(id).filter(|since| **since < row.granted_at);
        let draining = draining.filter(|since| !lifted(since, self.resumes.get(id)));
        ensure(draining.is_none(), "grant_to_draining", || format!("{row:?}"))
    }

    /// No more at a time than asked for, each of another owner, and no more attempts than there may be.
    fn check_others(&self, row: &AssignmentRecord, job: &PoolJobRecord) -> Verdict {
        let live = self.rows.of(job.id).filter(|row| row.state.is_live()).count();
        let votes = self.rows.votes(job.id).count();
        let asked = usize::from(job.draft.redundancy.max(1));
        let most = if votes < asked { asked - votes } else { 1 };
        ensure(live <= most, "job_given_too_often", || format!("{job:?}: {live} live, {votes} votes"))?;
        let used = self.rows.used(job.id);
        ensure(used <= usize::from(job.max_attempts), "pool_attempts_unbounded", || {
            format!("{job:?} had {used}")
        })?;
        if asked < 2 {
            return Ok(());
        }
        let counts = |row: &AssignmentRecord| row.state != AssignmentState::Revoked;
        let is_theirs = |other: &&AssignmentRecord| other.id != row.id && other.owner == row.owner;
        let twice = self.rows.of(job.id).filter(is_theirs).find(|other| counts(other) && counts(row));
        ensure(twice.is_none(), "owner_asked_twice", || format!("{row:?} beside {twice:?}"))
    }

    /// 2, 11: what a worker holds fits its slots; whoever is shut out holds nothing.
    fn check_held(&self, id: PoolWorkerId) -> Verdict {
        let Some(worker) = self.rows.workers.get(&id) else {
            return Ok(());
        };
        let held = self.rows.held_by(id).count();
        ensure(held <= worker.slots as usize, "more_assignments_than_slots", || {
            format!("{worker:?} holds {held}")
        })?;
        ensure(held == 0 || worker.ban_reason.is_none(), "banned_holds_work", || {
            format!("{worker:?} holds {held}")
        })
    }

    fn note_turn(&mut self, row: &AssignmentRecord) {
        if let Some(job) = self.rows.jobs.get(&row.id.job()) {
            let served = Served { at: row.granted_at, assignment: row.id, worker: row.worker };
            self.served.entry((job.draft.priority, job.client)).or_default().push(served);
        }
    }

    /// P14: highest priority; within it whoever was served longest ago; of these the oldest job. A job stood ready all
    /// along where nothing was written of it in this batch.
    fn check_turn(&self, row: &AssignmentRecord, before: &Before) -> Verdict {
        let (Some(job), Some(worker)) =
            (self.rows.jobs.get(&row.id.job()), self.rows.workers.get(&row.worker))
        else {
            return Ok(());
        };
        for other in self.rows.jobs.values().filter(|other| !before.jobs.contains(&other.id)) {
            if !self.stood_ready(other) || !fits(other, worker) {
                continue;
            }
            let (mine, theirs) = (job.draft.priority, other.draft.priority);
            ensure(theirs <= mine, "priority_ignored", || format!("{job:?} came before {other:?}"))?;
            let is_older = other.id < job.id && other.client == job.client && theirs == mine;
            ensure(!is_older, "older_job_passed_over", || format!("{job:?} came before {other:?}"))?;
            let is_rival = theirs == mine && other.client != job.client;
            ensure(!is_rival || !self.jumped(row, job.client, other), "client_passed_over", || {
                format!("{job:?} came before {other:?}: {:?}", self.served)
            })?;
        }
        Ok(())
    }

    /// True if a job waits that a worker of any owner may have.
    fn stood_ready(&self, job: &PoolJobRecord) -> bool {
        job.draft.redundancy < 2
            && self.rows.is_open(job.id)
            && !self.rows.of(job.id).any(|row| row.state.is_live())
    }

    /// True if a client was served again though another, whose job waited, was served longer ago.
    fn jumped(&self, row: &AssignmentRecord, client: UserId, other: &PoolJobRecord) -> bool {
        let turns = |client| self.served.get(&(other.draft.priority, client)).into_iter().flatten();
        let could = |worker| self.rows.workers.get(&worker).is_some_and(|worker| fits(other, worker));
        // Grants of the same moment may have happened in any order.
        let mine = turns(client).filter(|turn| turn.assignment != row.id).filter(|turn| {
            let at_once = turn.at == row.granted_at && turn.assignment < row.id && could(turn.worker);
            turn.at < row.granted_at || at_once
        });
        let theirs = turns(other.client).filter(|turn| turn.at <= row.granted_at);
        mine.map(|turn| turn.at).max() > theirs.map(|turn| turn.at).max()
    }
}

/// True if a worker stands where a job wants it and has what that asks for.
pub(super) fn fits(job: &PoolJobRecord, worker: &PoolWorkerRecord) -> bool {
    let demand = &job.draft.demand;
    let has = |name: &str, asked: &Quality| match (asked, worker.specs.get(name)) {
        (Quality::Amount(least), Some(Quality::Amount(there))) => there >= least,
        (asked, there) => there == Some(asked),
    };
    (demand.region.is_none() || demand.region == worker.region)
        && demand.requires.iter().all(|(name, asked)| has(name, asked))
}
