//! Builds the pool back from what a store kept.

use super::{
    Pool,
    state::{DirtyPool, Lease, Member, PoolTimer, Vote},
};
use crate::Mutant;
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    AssignmentRecord, AssignmentState, PoolChange, PoolJobId, PoolRegistration, PoolWorkerId,
    PoolWorkerRecord, PoolWorkerStatus, Timestamp,
};

impl Pool {
    /// Takes a record that a store kept: the counters, then workers, then jobs, each with its assignments.
    pub(crate) fn take_loaded(&mut self, record: PoolChange) {
        match record {
            PoolChange::Counters(counters) => {
                self.next_worker = self.next_worker.max(counters.next_worker);
                self.next_job = self.next_job.max(counters.next_job);
                self.dirty.counters = counters;
            }
            PoolChange::Worker(record) => self.take_worker(*record),
            PoolChange::Job(record) => self.open_job(&record),
            PoolChange::Assignment(record) => self.take_assignment(&record),
            PoolChange::End(_) | PoolChange::Key(_) => {}
        }
    }

    /// Everything was handed over: silence counts from `now` (P5).
    pub(crate) fn finish_loading(&mut self, now: Timestamp) {
        self.members.values_mut().for_each(|member| member.heard = now);
        let jobs: Vec<PoolJobId> = self.jobs.keys().copied().collect();
        jobs.into_iter().for_each(|id| self.reindex(id));
        let members: Vec<PoolWorkerId> = self.members.keys().copied().collect();
        members.into_iter().for_each(|id| self.arm(id));
        self.dirty = DirtyPool::settled(self.dirty.counters);
    }

    fn take_worker(&mut self, record: PoolWorkerRecord) {
        // One that was shut out without a reason is shut out all the same.
        let banned =
            record.ban_reason.or_else(|| (record.status == PoolWorkerStatus::Banned).then(Box::default));
        let PoolWorkerRecord { owner, name, region, specs, public_key, slots, created_at, .. } = record;
        let registration =
            PoolRegistration { owner, name, region, specs, specs_json: None, public_key, slots };
        let member = Member {
            online: record.status == PoolWorkerStatus::Online,
            draining: record.draining,
            banned,
            agreements: record.agreements,
            dissents: record.dissents,
            last_seen: record.last_seen,
            ..Member::new(registration, created_at)
        };
        self.add_member(record.id, member);
    }

    fn take_assignment(&mut self, record: &AssignmentRecord) {
        let forgets = self.has_bug(Mutant::VotesForgotten);
        let Some(job) = self.jobs.get_mut(&record.id.job()) else {
            return;
        };
        job.given = job.given.max(record.id.ordinal());
        job.forgiven += u8::from(record.state == AssignmentState::Revoked);
        let AssignmentRecord { id, worker, owner, fence, granted_at, timeout_at, .. } = *record;
        if record.state != AssignmentState::Revoked && job.redundancy > 1 {
            job.had.push(owner);
        }
        if record.state.is_live() {
            let started = record.state == AssignmentState::Started;
            job.leases.push(Lease { id, worker, owner, fence, started, granted_at, timeout_at });
            if let Some(member) = self.members.get_mut(&worker) {
                member.live.push(id);
            }
            if let Some(end) = timeout_at {
                self.timers.set(end, PoolTimer::Timeout(id));
            }
        }
        let voted = record.state == AssignmentState::Completed && job.redundancy > 1 && !forgets;
        // A vote of an earlier version has no computed hash: the declared one stays its vote.
        let hash = record.vote.clone().or_else(|| record.output_hash.clone());
        if let Some(hash) = hash.filter(|_| voted) {
            job.votes.push(Vote { id, worker, owner, hash });
        }
    }
}
