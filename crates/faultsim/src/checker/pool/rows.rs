//! The pool's rows as the store was told them.

use super::{Verdict, ensure};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, PoolChange, PoolEndRecord, PoolJobId, PoolJobRecord,
    PoolKeyRecord, PoolWorkerId, PoolWorkerRecord, SubmissionKey, UserId,
};
use std::collections::{BTreeMap, BTreeSet};

/// All durable rows.
#[derive(Default)]
pub(super) struct Rows {
    pub(super) workers: BTreeMap<PoolWorkerId, PoolWorkerRecord>,
    pub(super) jobs: BTreeMap<PoolJobId, PoolJobRecord>,
    pub(super) assignments: BTreeMap<AssignmentId, AssignmentRecord>,
    pub(super) ends: BTreeMap<PoolJobId, PoolEndRecord>,
    pub(super) keys: BTreeMap<(UserId, SubmissionKey), PoolKeyRecord>,
    /// Those that are live.
    pub(super) live: BTreeSet<AssignmentId>,
}

/// The rows a batch changed, as they were before it.
#[derive(Default)]
pub(super) struct Before {
    pub(super) workers: BTreeMap<PoolWorkerId, Option<PoolWorkerRecord>>,
    pub(super) assignments: BTreeMap<AssignmentId, Option<AssignmentRecord>>,
    /// Jobs that were handed in, ended, or given to somebody.
    pub(super) jobs: BTreeSet<PoolJobId>,
    pub(super) ends: Vec<PoolJobId>,
    others: bool,
}

/// An output and an artifact. The ledger compares these themselves: no hash that somebody declared or computed can mislead
/// it. Outputs in the world are canonical.
pub(super) type Submitted<'a> = (&'a str, Option<&'a str>);

/// What was submitted for an assignment, where it has an output.
pub(super) fn submitted(row: &AssignmentRecord) -> Option<Submitted<'_>> {
    let result = row.result.as_ref()?;
    Some((result.output.as_deref()?, result.artifact_uri.as_deref()))
}

impl Before {
    pub(super) fn is_empty(&self) -> bool {
        self.workers.is_empty() && self.jobs.is_empty() && !self.others
    }
}

impl Rows {
    pub(super) fn write(&mut self, change: &PoolChange, before: &mut Before) -> Verdict {
        before.others = true;
        match change {
            PoolChange::Worker(row) => {
                let old = self.workers.insert(row.id, (**row).clone());
                before.workers.entry(row.id).or_insert(old);
                Ok(())
            }
            PoolChange::Job(row) => {
                before.jobs.insert(row.id);
                let old = self.jobs.insert(row.id, (**row).clone());
                ensure(old.is_none(), "pool_job_changes", || format!("{old:?} became {row:?}"))
            }
            PoolChange::Assignment(row) => {
                self.write_assignment(row, before);
                Ok(())
            }
            PoolChange::End(row) => {
                before.jobs.insert(row.job);
                before.ends.push(row.job);
                let old = self.ends.insert(row.job, row.clone());
                let known = self.jobs.contains_key(&row.job);
                ensure(old.is_none() && known, "pool_job_ends_twice", || format!("{row:?} after {old:?}"))
            }
            PoolChange::Key(row) => {
                let old = self.keys.insert((row.client, row.key.clone()), row.clone());
                ensure(old.is_none(), "key_made_two_batches", || format!("{row:?} after {old:?}"))
            }
            PoolChange::Counters(_) => Ok(()),
        }
    }

    fn write_assignment(&mut self, row: &AssignmentRecord, before: &mut Before) {
        before.jobs.insert(row.id.job());
        match row.state.is_live() {
            true => self.live.insert(row.id),
            false => self.live.remove(&row.id),
        };
        let old = self.assignments.insert(row.id, row.clone());
        before.assignments.entry(row.id).or_insert(old);
    }

    /// The assignments of a job, oldest first.
    pub(super) fn of(&self, job: PoolJobId) -> impl Iterator<Item = &AssignmentRecord> {
        let last = AssignmentId::new(job, AssignmentId::PER_JOB_MAX);
        self.assignments.range(AssignmentId::new(job, 0)..=last).map(|(_, row)| row)
    }

    /// The votes on a redundant job: who completed it, and what they submitted (P15).
    pub(super) fn votes(&self, job: PoolJobId) -> impl Iterator<Item = (&AssignmentRecord, Submitted<'_>)> {
        let is_redundant = self.jobs.get(&job).is_some_and(|job| job.draft.redundancy > 1);
        let done = self.of(job).filter(|row| row.state == AssignmentState::Completed);
        done.filter_map(|row| Some((row, submitted(row)?))).filter(move |_| is_redundant)
    }

    /// Attempts of a job that count: those that were taken back do not.
    pub(super) fn used(&self, job: PoolJobId) -> usize {
        self.of(job).filter(|row| row.state != AssignmentState::Revoked).count()
    }

    pub(super) fn held_by(&self, worker: PoolWorkerId) -> impl Iterator<Item = &AssignmentRecord> {
        let live = self.live.iter().filter_map(|id| self.assignments.get(id));
        live.filter(move |row| row.worker == worker)
    }

    pub(super) fn is_open(&self, job: PoolJobId) -> bool {
        self.jobs.contains_key(&job) && !self.ends.contains_key(&job)
    }
}
