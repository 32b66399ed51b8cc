//! P5, P7, P8, invariant 9: an assignment has its own nonce, ends once, and its result is its worker's.

use super::{PoolBook, Verdict, ensure, rows::Before};
use crate::scene::Scene;
use muster_model::{AssignmentId, AssignmentRecord, AssignmentState, PoolResult};

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
        let is_checked = self.rows.jobs.get(&row.id.job()).is_some_and(|job| job.draft.verify_output_hash);
        ensure(!is_checked || result.hash_matches != Some(false), "wrong_hash_taken", || format!("{row:?}"))
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

fn is_failure(result: &PoolResult) -> bool {
    result.error.as_deref().is_some_and(|error| !error.is_empty())
}

fn is_failed(row: &AssignmentRecord) -> bool {
    row.state == AssignmentState::Failed
}
