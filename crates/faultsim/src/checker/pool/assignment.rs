//! P5, P7, P8, invariant 9: an assignment has its own nonce, ends once, and its result is its worker's.

use super::{
    PoolBook, Verdict, ensure,
    rows::{Before, submitted},
};
use crate::scene::Scene;
use muster_model::{AssignmentId, AssignmentRecord, AssignmentState, PoolJobRecord, PoolResult};
use muster_proof::{sha256_hex, vote};

impl PoolBook {
    pub(super) fn check_assignments(&mut self, before: &Before, scene: &mut Scene) -> Verdict {
        for (id, old) in &before.assignments {
            let row = self.rows.assignments[id].clone();
            match old {
                None => self.check_new(&row)?,
                Some(old) => check_change(old, &row)?,
            }
            let ends = !row.state.is_live() && old.as_ref().is_none_or(|old| old.state.is_live());
            if ends {
                self.check_ended(&row, scene)?;
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

    fn check_ended(&self, row: &AssignmentRecord, scene: &mut Scene) -> Verdict {
        ensure(row.ended_at.is_some_and(|at| at >= row.granted_at), "assignment_ends_strangely", || {
            format!("{row:?}")
        })?;
        self.check_dead(row)?;
        match row.state {
            AssignmentState::Completed => {
                scene.count("assignment completed");
                self.check_result(row)
            }
            AssignmentState::Failed => {
                scene.count("assignment failed");
                self.check_result(row)
            }
            AssignmentState::Expired => {
                scene.count("assignment expired");
                self.check_expired(row)
            }
            _ => {
                scene.count("assignment revoked");
                let has_ended = self.rows.ends.contains_key(&row.id.job());
                let was_banned = self.bans.contains(&row.worker)
                    || self.rows.workers.get(&row.worker).is_some_and(|worker| worker.ban_reason.is_some());
                ensure(has_ended || was_banned, "revoked_without_reason", || format!("{row:?}"))
            }
        }
    }

    /// What was taken was handed in by whoever held the assignment, with its nonce, signed with a key of its own.
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

fn is_failure(result: &PoolResult) -> bool {
    result.error.as_deref().is_some_and(|error| !error.is_empty())
}

fn is_failed(row: &AssignmentRecord) -> bool {
    row.state == AssignmentState::Failed
}
