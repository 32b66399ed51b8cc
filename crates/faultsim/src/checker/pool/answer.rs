//! P6, P7, P8, P13, P19, invariants 5 and 9: what leaves the coordinator is durable, and refusals have their reason.

use super::{PoolBook, Verdict, ensure};
use muster_model::{
    AssignmentState, PoolCommand, PoolHandout, PoolJobDraft, PoolJobId, PoolJobStatus, PoolRejection,
    PoolReply, PoolResult, PoolSubmission, PoolSubmissionReply, PoolTaken, PoolWorkReply, PoolWorkerId,
};

type Answered<'a> = Result<&'a PoolReply, &'a PoolRejection>;

impl PoolBook {
    /// Checks that the promise of a response is durable, and stays so.
    pub(in crate::checker) fn promised(&mut self, command: &PoolCommand, reply: &PoolReply) -> Verdict {
        match (command, reply) {
            (PoolCommand::HandIn { worker, result, .. }, PoolReply::Taken(taken)) => {
                self.check_taken(*worker, result, taken)
            }
            (PoolCommand::Work(work), PoolReply::Worked(PoolWorkReply { results, assignments })) => {
                for (handed, outcome) in work.results.iter().zip(results) {
                    outcome.as_ref().map_or(Ok(()), |taken| self.check_taken(work.worker, handed, taken))?;
                }
                assignments.iter().try_for_each(|handout| self.check_handout(work.worker, handout))
            }
            (PoolCommand::Poll { worker, .. }, PoolReply::Assignment(Some(handout))) => {
                self.check_handout(*worker, handout)
            }
            (PoolCommand::Resume { worker, .. }, PoolReply::Assignments(handouts)) => {
                handouts.iter().try_for_each(|handout| self.check_handout(*worker, handout))
            }
            (PoolCommand::Submit(submission), reply) => self.check_submission(submission, Ok(reply)),
            (PoolCommand::Cancel { job, .. }, _) => {
                let status = self.rows.ends.get(job).map(|end| end.status);
                ensure(status == Some(PoolJobStatus::Cancelled), "pool_cancel_not_durable", || {
                    format!("{job}: {status:?}")
                })
            }
            (_, PoolReply::Worker(worker)) => {
                let known = self.rows.workers.get(&worker.id);
                let same = known.is_some_and(|row| row.name == worker.name && row.owner == worker.owner);
                ensure(same, "worker_not_durable", || format!("{worker:?} told, {known:?} durable"))
            }
            _ => Ok(()),
        }
    }

    /// An answer leaves.
    pub(in crate::checker) fn answered(
        &mut self,
        command: &PoolCommand,
        exchange: u64,
        result: Answered<'_>,
    ) -> Verdict {
        match (command, result) {
            (PoolCommand::HandIn { worker, result, .. }, Err(rejection)) => {
                self.check_refused(*worker, result, *rejection)
            }
            (PoolCommand::Work(work), Ok(PoolReply::Worked(PoolWorkReply { results, assignments }))) => {
                for (handed, outcome) in work.results.iter().zip(results) {
                    if let Err(rejection) = outcome {
                        self.check_refused(work.worker, handed, *rejection)?;
                    }
                }
                let fits = assignments.len() <= work.max as usize && results.len() == work.results.len();
                ensure(fits, "more_work_than_asked", || format!("{work:?}: {assignments:?}"))
            }
            (PoolCommand::Poll { worker, .. }, Ok(PoolReply::Assignment(None))) => {
                self.check_nothing(*worker, exchange)
            }
            (PoolCommand::Resume { worker, .. }, Ok(PoolReply::Assignments(handouts))) => {
                self.check_resumed(*worker, exchange, handouts)
            }
            (PoolCommand::Submit(submission), result @ Err(_)) => self.check_submission(submission, result),
            (PoolCommand::Cancel { job, client }, Err(PoolRejection::JobUnknown)) => {
                let theirs = self.rows.jobs.get(job).filter(|row| client.is_none_or(|by| by == row.client));
                ensure(theirs.is_none(), "job_denied", || format!("{job} to {client:?}"))
            }
            (PoolCommand::Cancel { job, .. }, Err(_)) => {
                let is_over = self.rows.ends.contains_key(job);
                ensure(is_over, "refused_without_reason", || format!("cancelling {job}"))
            }
            _ => Ok(()),
        }
    }

    /// 9: one result is taken, once, and what says so is durable.
    fn check_taken(&mut self, worker: PoolWorkerId, result: &PoolResult, taken: &PoolTaken) -> Verdict {
        let row = self.rows.assignments.get(&result.assignment);
        let state = match taken.status {
            PoolJobStatus::Failed => AssignmentState::Failed,
            _ => AssignmentState::Completed,
        };
        let same = row.is_some_and(|row| {
            row.worker == worker && row.state == state && row.digest == Some(result.digest)
        });
        ensure(same && taken.assignment == result.assignment, "result_not_durable", || {
            format!("{taken:?} told, {row:?} durable")
        })?;
        let first = self.accepted.insert(result.assignment, result.digest);
        ensure(first.is_none(), "result_taken_twice", || format!("{result:?}"))
    }

    /// P8: every refusal is one that what is durable accounts for.
    fn check_refused(&self, worker: PoolWorkerId, result: &PoolResult, rejection: PoolRejection) -> Verdict {
        let row = self.rows.assignments.get(&result.assignment);
        let holds = row.is_some_and(|row| row.worker == worker);
        let nonce = row.map(|row| row.fence);
        let job = self.rows.jobs.get(&result.assignment.job());
        let is_redundant = job.is_some_and(|job| job.draft.redundancy > 1);
        let is_right = match rejection {
            PoolRejection::AssignmentUnknown => !holds,
            PoolRejection::NonceInvalid => {
                self.seen.count("result with a wrong nonce");
                holds && result.nonce != nonce
            }
            PoolRejection::AlreadySubmitted { identical } => {
                self.seen.count("result handed in again");
                let digest = row.and_then(|row| row.digest);
                holds && result.nonce == nonce && digest.is_some_and(|it| (it == result.digest) == identical)
            }
            PoolRejection::NotSubmittable => {
                self.seen.count("result handed in late");
                let ends = [AssignmentState::Expired, AssignmentState::Revoked];
                holds && row.is_some_and(|row| ends.contains(&row.state))
            }
            PoolRejection::OutputRequired => {
                self.seen.count("vote without its output");
                let is_failure = result.error.as_deref().is_some_and(|error| !error.is_empty());
                is_redundant && result.output.is_none() && !is_failure
            }
            PoolRejection::HashMismatch => {
                self.seen.count("result with a wrong hash");
                let is_checked = is_redundant || job.is_some_and(|job| job.draft.verify_output_hash);
                result.hash_matches == Some(false) && is_checked
            }
            PoolRejection::KeyReplaced => {
                self.seen.count("result signed with another key");
                // The key may have been replaced again since.
                let keys = self.keys.get(&worker).map_or(0, |keys| keys.len());
                let key = self.rows.workers.get(&worker).and_then(|row| row.public_key.as_deref());
                keys > 1 || key != Some(&*result.public_key)
            }
            PoolRejection::WorkerUnknown => true,
            _ => false,
        };
        ensure(is_right, "refused_without_reason", || format!("{rejection:?} to {result:?} with {row:?}"))
    }

    /// An assignment that leaves is durable with all that it says, and is for nobody else.
    fn check_handout(&self, worker: PoolWorkerId, handout: &PoolHandout) -> Verdict {
        let row = self.rows.assignments.get(&handout.assignment);
        let job = self.rows.jobs.get(&handout.assignment.job());
        let same = row.is_some_and(|row| row.worker == worker && row.fence == handout.fence)
            && job.is_some_and(|job| job.draft.priority == handout.priority);
        ensure(same, "assignment_not_durable", || format!("{handout:?} told to {worker}, {row:?} durable"))
    }

    /// P6: what a worker has and has not started it is given again.
    fn check_nothing(&self, worker: PoolWorkerId, exchange: u64) -> Verdict {
        let taken = self.taken_at(exchange);
        let mut held = self.rows.held_by(worker);
        let forgotten = held.find(|row| row.state == AssignmentState::Assigned && row.granted_at < taken);
        ensure(forgotten.is_none(), "assignment_forgotten", || {
            format!("{worker} was told nothing though it has {forgotten:?}")
        })
    }

    /// P6: what a worker has started it finds again.
    fn check_resumed(&self, worker: PoolWorkerId, exchange: u64, told: &[PoolHandout]) -> Verdict {
        let taken = self.taken_at(exchange);
        let known = |row: &&muster_model::AssignmentRecord| {
            row.state == AssignmentState::Started
                && self.started_since.get(&row.id).is_some_and(|since| *since < taken)
                && !told.iter().any(|handout| handout.assignment == row.id)
        };
        let forgotten = self.rows.held_by(worker).find(known);
        ensure(forgotten.is_none(), "assignment_forgotten", || {
            format!("{worker} was told {told:?} though it has begun {forgotten:?}")
        })
    }

    fn check_submission(&mut self, submission: &PoolSubmission, result: Answered<'_>) -> Verdict {
        match result {
            Ok(PoolReply::Submitted(PoolSubmissionReply { first, count, repeated, .. })) => {
                self.seen.count(if *repeated { "jobs handed in again" } else { "jobs handed in" });
                self.check_submitted(submission, *first, *count)
            }
            Err(PoolRejection::KeyConflict) => {
                let key = submission.key.clone().map(|key| (submission.client, key));
                let known = key.and_then(|key| self.rows.keys.get(&key));
                let differs = known.is_some_and(|known| known.digest != submission.digest);
                ensure(differs, "refused_without_reason", || format!("{submission:?} with {known:?}"))
            }
            Err(PoolRejection::TooManyWaiting { .. }) => {
                self.seen.count("too many jobs wait");
                Ok(())
            }
            other => ensure(false, "refused_without_reason", || format!("{submission:?}: {other:?}")),
        }
    }

    /// P13, P18: all of them are there, as they were handed in; a key that is used again gives the first ones.
    fn check_submitted(&mut self, submission: &PoolSubmission, first: PoolJobId, count: u32) -> Verdict {
        let asked: Vec<&PoolJobDraft> = submission.jobs.iter().collect();
        let rows = (first.0..first.0 + u64::from(count)).map(|id| self.rows.jobs.get(&PoolJobId(id)));
        let there: Vec<&PoolJobDraft> =
            rows.flatten().filter(|row| row.client == submission.client).map(|row| &row.draft).collect();
        ensure(asked == there, "pool_submission_not_durable", || format!("{submission:?} from {first}"))?;
        let Some(key) = submission.key.clone() else {
            return Ok(());
        };
        let made = *self.promised.entry((submission.client, key)).or_insert((first, count));
        ensure(made == (first, count), "key_made_two_batches", || {
            format!("{submission:?} made {made:?} and {first}, {count}")
        })
    }
}
