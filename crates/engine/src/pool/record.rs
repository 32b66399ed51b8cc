//! Rows for the store: those of everything that changed since it was last asked for.

use super::{
    Pool,
    state::{DirtyPool, RecentPool},
};
use alloc::vec::Vec;
use muster_model::{Change, PoolChange, PoolCounters, PoolWorkerId, PoolWorkerRecord, Timestamp};

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
