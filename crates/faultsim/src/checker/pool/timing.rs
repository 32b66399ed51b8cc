//! P5: nothing ends before its time or outlasts it.

use super::{PoolBook, SLACK, Verdict, ensure, rows::Before};
use muster_model::{AssignmentId, AssignmentRecord, PoolWorkerId, PoolWorkerStatus, Timestamp};

impl PoolBook {
    /// Leases end by silence or by their job's own limit, no earlier.
    pub(super) fn check_expired(&self, row: &AssignmentRecord) -> Verdict {
        let at = row.ended_at.unwrap_or_default();
        let is_over = row.timeout_at.is_some_and(|end| end <= at);
        let heard = self.heard.get(&row.worker).into_iter().flatten();
        let sign = heard.copied().find(|heard| *heard < at && *heard + self.settings.lease > at);
        // A sign of life that came after the grant renews; the grant itself is one.
        let is_early = sign.is_some() || row.granted_at + self.settings.lease > at;
        ensure(is_over || !is_early, "assignment_expired_early", || {
            format!("{row:?} though it was heard of at {sign:?}")
        })
    }

    /// What was over when its worker spoke again is over for good.
    pub(super) fn note_dead(&mut self, worker: PoolWorkerId, now: Timestamp) {
        let sign = self.last_sign(worker);
        let held = self.rows.held_by(worker);
        let dead = held.filter(|row| sign.max(row.granted_at) + self.settings.lease <= now);
        let dead: Vec<AssignmentId> = dead.map(|row| row.id).collect();
        dead.into_iter().for_each(|id| _ = self.dead.entry(id).or_insert(now));
    }

    /// Nothing more is heard of what was over.
    pub(super) fn check_dead(&self, row: &AssignmentRecord) -> Verdict {
        let over = self.dead.get(&row.id).filter(|over| row.ended_at.is_none_or(|at| at > **over));
        ensure(over.is_none(), "dead_lease_revived", || format!("{row:?} was over at {over:?}"))
    }

    /// Leases and workers that are silent do not stand for ever.
    pub(in crate::checker) fn after_step(&self, now: Timestamp) -> Verdict {
        for row in self.rows.live.iter().filter_map(|id| self.rows.assignments.get(id)) {
            let silent = self.last_sign(row.worker).max(row.granted_at) + self.settings.lease + SLACK < now;
            let too_long = row.timeout_at.is_some_and(|end| end.max(self.up_since) + SLACK < now);
            ensure(!silent && !too_long, "assignment_outlasts", || format!("{row:?} at {now:?}"))?;
            if self.dead.get(&row.id).is_some_and(|over| *over + SLACK < now) {
                self.check_dead(row)?;
            }
        }
        for row in self.rows.workers.values().filter(|row| row.status == PoolWorkerStatus::Online) {
            let silent = self.last_sign(row.id) + self.settings.offline_after + SLACK < now;
            ensure(!silent, "silent_worker_online", || format!("{row:?} at {now:?}"))?;
        }
        Ok(())
    }

    /// Nobody is offline who was just heard of.
    pub(super) fn check_workers(&self, before: &Before, now: Timestamp) -> Verdict {
        for (id, old) in &before.workers {
            let row = &self.rows.workers[id];
            let (was, is) = (old.as_ref().map(|old| old.status), row.status);
            let goes = was == Some(PoolWorkerStatus::Online) && is == PoolWorkerStatus::Offline;
            let heard = self.heard.get(id).into_iter().flatten().copied();
            let surely = |heard: Timestamp| heard + SLACK < now && heard + self.settings.offline_after > now;
            // Who was shut out and let in again counts as offline until it is heard of.
            let is_let_in = self.unbans.get(id).is_some_and(|at| *at + SLACK >= now);
            let sign = heard.filter(|heard| surely(*heard)).last();
            let is_early = goes && !is_let_in && sign.is_some();
            ensure(!is_early, "worker_offline_early", || {
                format!("{row:?} at {now:?} though it was heard of at {sign:?}")
            })?;
        }
        Ok(())
    }

    fn last_sign(&self, worker: PoolWorkerId) -> Timestamp {
        self.maybe.get(&worker).copied().unwrap_or_default().max(self.up_since)
    }
}
