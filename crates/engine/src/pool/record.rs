//! Rows of the pool: what changed, and the state that is built back from them.

use super::{
    Pool,
    state::{DirtyPool, Lease, Member, PoolTimer, RecentPool, Vote},
};
use crate::Mutant;
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    AssignmentRecord, AssignmentState, Change, PoolChange, PoolCounters, PoolJobId, PoolRegistration,
    PoolWorkerId, PoolWorkerRecord, PoolWorkerStatus, Timestamp,
};

impl Pool {
    /// The rows changed since the last call, each once.
    pub(crate) fn take_changes(&mut self) -> impl Iterator<Item = Change> + use<> {
        let mut changes = core::mem::take(&mut self.dirty.history);
        let leases = core::mem::take(&mut self.dirty.leases);
        changes.extend(
            leases.into_iter().filter_map(|id| Some(PoolChange::Assignment(self.lease(id)?.record().into()))),
        );
        for id in core::mem::take(&mut self.dirty.members) {
            let specs_json = self.members.get_mut(&id).and_then(|member| member.specs_json.take());
            let record = self.worker_record(id);
            changes.extend(
                record.map(|record| PoolChange::Worker(PoolWorkerRecord { specs_json, ..record }.into())),
            );
        }
        let counters = self.counters();
        if counters != self.dirty.counters {
            self.dirty.counters = counters;
            changes.push(PoolChange::Counters(counters));
        }
        changes.into_iter().map(Change::Pool)
    }

    /// The workers heard of since the last call.
    pub(crate) fn take_sightings(&mut self) -> Vec<(PoolWorkerId, Timestamp)> {
        let sighted = core::mem::take(&mut self.dirty.sighted);
        sighted.into_iter().filter_map(|id| Some((id, self.members.get(&id)?.last_seen?))).collect()
    }

    /// Lets go of what a commit has made findable in the store; not of what is newer than that.
    pub(crate) fn forget(&mut self, committed: &PoolChange) {
        let RecentPool { ends, assignments, keys } = &mut self.recent;
        match committed {
            PoolChange::End(end) => _ = ends.remove(&end.job),
            PoolChange::Assignment(record) if record.ended_at.is_some() => _ = assignments.remove(&record.id),
            PoolChange::Key(record) => _ = keys.remove(&(record.client, record.key.clone())),
            _ => {}
        }
    }

    /// The rows of everything live, sorted: what a store must hold of it.
    pub(crate) fn live_rows(&self) -> Vec<Change> {
        let members = self.members.keys().filter_map(|id| self.worker_record(*id));
        let members = members.map(|record| PoolChange::Worker(record.into()));
        let leases = self.jobs.values().flat_map(|job| &job.leases);
        let leases = leases.map(|lease| PoolChange::Assignment(lease.record().into()));
        members.chain(leases).map(Change::Pool).collect()
    }

    pub(crate) fn worker_record(&self, id: PoolWorkerId) -> Option<PoolWorkerRecord> {
        let member = self.members.get(&id)?;
        Some(PoolWorkerRecord {
            id,
            owner: member.owner,
            name: member.name.clone(),
            status: member.status(),
            region: member.region.clone(),
            specs: member.specs.clone(),
            specs_json: member.specs_json.clone(),
            public_key: member.public_key.clone(),
            slots: member.slots,
            draining: member.draining,
            ban_reason: member.banned.clone(),
            agreements: member.agreements,
            dissents: member.dissents,
            last_seen: member.last_seen,
            created_at: member.created_at,
        })
    }

    fn counters(&self) -> PoolCounters {
        let oldest = self.jobs.first_key_value().map_or(self.next_job, |(id, _)| id.0);
        PoolCounters { next_worker: self.next_worker, next_job: self.next_job, oldest_open: oldest }
    }
}

impl DirtyPool {
    /// Marks for a pool that was just built back: nothing is left to write.
    pub(super) fn settled(counters: PoolCounters) -> Self {
        Self { counters, ..Self::default() }
    }
}

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
        // A worker that was banned without a reason is still banned.
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
