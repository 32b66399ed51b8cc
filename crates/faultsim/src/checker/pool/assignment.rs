//! P5, P7, P8, P20, invariant 9: an assignment has its own nonce, ends once and in time, and its result is its worker's.

use super::{Before, PoolBook, SLACK, Verdict, ensure, submitted};
use muster_contract_pool::{Receipt, to_bytes};
use muster_model::{
    AssignmentId, AssignmentRecord, AssignmentState, PoolJobRecord, PoolResult, PoolWorkerId,
    PoolWorkerStatus, Timestamp,
};
use muster_proof::{sha256_hex, vote};

impl PoolBook {
    pub(super) fn check_assignments(&mut self, before: &Before) -> Verdict {
        for (id, old) in &before.assignments {
            let row = self.rows.assignments[id].clone();
            match old {
                None => self.check_new(&row)?,
                Some(old) => check_change(old, &row)?,
            }
            let ends = !row.state.is_live() && old.as_ref().is_none_or(|old| old.state.is_live());
            if ends {
                self.check_ended(&row)?;
            }
        }
        Ok(())
    }

    fn check_new(&mut self, row: &AssignmentRecord) -> Verdict {
        let before = row.id.ordinal().saturating_sub(1);
        let follows =
            before == 0 || self.rows.assignments.contains_key(&AssignmentId::new(row.id.job(), before));
        ensure(follows, "assignment_numbers", || format!("{row:?} follows none"))?;
        let used = self.fences.insert(row.fence, row.id).filter(|other| *other != row.id);
        ensure(used.is_none(), "nonce_used_twice", || format!("{row:?} has the nonce of {used:?}"))
    }

    fn check_ended(&self, row: &AssignmentRecord) -> Verdict {
        ensure(row.ended_at.is_some_and(|at| at >= row.granted_at), "assignment_ends_strangely", || {
            format!("{row:?}")
        })?;
        self.check_dead(row)?;
        match row.state {
            AssignmentState::Completed => {
                self.seen.count("assignment completed");
                self.check_result(row)
            }
            AssignmentState::Failed => {
                self.seen.count("assignment failed");
                self.check_result(row)
            }
            AssignmentState::Expired => {
                self.seen.count("assignment expired");
                self.check_expired(row)
            }
            _ => {
                self.seen.count("assignment revoked");
                let has_ended = self.rows.ends.contains_key(&row.id.job());
                let was_banned = self.bans.contains(&row.worker)
                    || self.rows.workers.get(&row.worker).is_some_and(|worker| worker.ban_reason.is_some());
                ensure(has_ended || was_banned, "revoked_without_reason", || format!("{row:?}"))
            }
        }
    }

    /// Checks that an accepted result was submitted by the holder of the assignment, with its nonce, and signed with
    /// one of its own keys.
    fn check_result(&self, row: &AssignmentRecord) -> Verdict {
        let Some(result) = &row.result else {
            return ensure(false, "result_forgotten", || format!("{row:?}"));
        };
        let PoolResult { assignment, nonce, digest, public_key, output_hash, .. } = &**result;
        let is_its = *assignment == row.id && *nonce == Some(row.fence) && row.digest == Some(*digest);
        let is_same = *output_hash == row.output_hash && is_failure(result) == is_failed(row);
        ensure(is_its && is_same, "result_of_another", || format!("{row:?}"))?;
        let is_handed_in = self.handed_in.contains(&(row.worker, row.id, *digest));
        ensure(is_handed_in, "result_from_nowhere", || format!("{row:?}"))?;
        let is_signed = self.keys.get(&row.worker).is_some_and(|keys| keys.contains(public_key));
        ensure(is_signed, "foreign_key_taken", || format!("{row:?}"))?;
        check_receipt(row, result)?;
        let Some(job) = self.rows.jobs.get(&row.id.job()) else {
            return Ok(());
        };
        let is_checked = job.draft.verify_output_hash || job.draft.redundancy > 1;
        ensure(!is_checked || result.hash_matches != Some(false), "wrong_hash_taken", || format!("{row:?}"))?;
        check_vote(row, job)
    }
}

/// An assignment goes forward, and what ended stays as it ended.
fn check_change(old: &AssignmentRecord, row: &AssignmentRecord) -> Verdict {
    let same = (old.worker, old.owner, old.fence, old.granted_at, old.timeout_at)
        == (row.worker, row.owner, row.fence, row.granted_at, row.timeout_at);
    ensure(same, "assignment_changes", || format!("{old:?} became {row:?}"))?;
    let forward = old.state.is_live() && (row.state != AssignmentState::Assigned || old.state == row.state);
    ensure(forward, "ended_assignment_changes", || format!("{old:?} became {row:?}"))
}

/// P15: a result of a redundant job has an output, and its vote is the hash of what was submitted; no other result has one.
fn check_vote(row: &AssignmentRecord, job: &PoolJobRecord) -> Verdict {
    let is_vote = job.draft.redundancy > 1 && !is_failed(row);
    let submitted = submitted(row).filter(|_| is_vote);
    ensure(!is_vote || submitted.is_some(), "vote_without_output", || format!("{row:?}"))?;
    let computed = submitted.map(|(output, artifact)| vote(&sha256_hex(output.as_bytes()), artifact));
    ensure(row.vote.as_deref() == computed.as_deref(), "vote_of_another_output", || {
        format!("{computed:?} is the vote of {row:?}")
    })
}

/// P20: a result of a batch has a receipt that verifies with the key of its worker.
fn check_receipt(row: &AssignmentRecord, result: &PoolResult) -> Verdict {
    if result.batch.is_none() || is_failed(row) {
        return Ok(());
    }
    let checked = Receipt::of(row).map(|receipt| {
        let parsed = muster_proof::Receipt::parse(&to_bytes(&receipt)).map_err(|error| error.to_string())?;
        parsed.check(Some(&result.public_key)).map_err(|fault| fault.to_string())
    });
    ensure(checked == Some(Ok(())), "receipt_does_not_verify", || format!("{checked:?}: {row:?}"))
}

fn is_failure(result: &PoolResult) -> bool {
    result.error.as_deref().is_some_and(|error| !error.is_empty())
}

fn is_failed(row: &AssignmentRecord) -> bool {
    row.state == AssignmentState::Failed
}

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

    /// Marks the assignments whose lease was over when their worker spoke again: they are over for good.
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

    /// Checks that no worker goes offline just after it was heard of.
    pub(super) fn check_workers(&self, before: &Before, now: Timestamp) -> Verdict {
        for (id, old) in &before.workers {
            let row = &self.rows.workers[id];
            let (was, is) = (old.as_ref().map(|old| old.status), row.status);
            let goes = was == Some(PoolWorkerStatus::Online) && is == PoolWorkerStatus::Offline;
            let heard = self.heard.get(id).into_iter().flatten().copied();
            let surely = |heard: Timestamp| heard + SLACK < now && heard + self.settings.offline_after > now;
            // An unbanned worker counts as offline until it is heard of.
            let is_let_in = self.unbans.get(id).is_some_and(|at| *at + SLACK >= now);
            let sign = heard.filter(|heard| surely(*heard)).max();
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
