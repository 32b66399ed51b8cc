//! Q6, Q7: when an active job is over, and how.

use crate::devices::state::{Job, State};
use muster_model::{Event, JobOutcome, JobStatus, Timestamp};

/// The event that ends a job, if it is over.
///
/// A job without a single task has matched nothing: it waits for the grace, then fails. A job with
/// tasks is over when all of them ended and no target lacks one.
pub(crate) fn verdict(state: &State, job: &Job, now: Timestamp) -> Option<Event> {
    if job.status.is_ended() {
        let done = job.open == 0 && !job.closed;
        return done.then_some(Event::JobClosed { job: job.id });
    }
    if !job.is_active() || job.lacking > 0 || job.open > 0 {
        return None;
    }
    let (status, error) = match (job.tasks, job.completed) {
        (0, _) if now < waits_until(state, job) => return None,
        (0, _) => (JobStatus::Failed, Some("no eligible device".into())),
        (_, 0) => (JobStatus::Failed, Some("no task completed".into())),
        _ => (JobStatus::Success, None),
    };
    let outcome = JobOutcome::of(status, job.tasks, job.completed);
    Some(Event::JobEnded { job: job.id, status, outcome, error, at: now })
}

/// Until when an active job waits for a first device.
pub(crate) fn waits_until(state: &State, job: &Job) -> Timestamp {
    job.started_at.unwrap_or(job.created_at) + state.settings.offline_grace
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q7: a run is a success when all rows ended and one completed, failed when none did.
    #[test]
    fn how_a_run_ends() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1 attempts=1
            2s  pull PC-01
            3s  finished PC-01 r1/d1 failed  -> confirmed r1/d1; ended r1/d1#1 failed; closed r1/d1 Failed (adb_offline); error d1
            4s  finished PC-01 r1/d2 ok      -> confirmed r1/d2; ended r1/d2#1 ok; closed r1/d2 Completed; over r1 Success
            5s  return d1
            6s  submit r2 devices=d1 attempts=1
            7s  pull PC-01
            8s  finished PC-01 r2/d1 failed  -> confirmed r2/d1; ended r2/d1#1 failed; closed r2/d1 Failed (adb_offline); error d1; over r2 Failed (no task completed)
            ",
        );
    }

    /// Q7b: the outcome says whether all rows completed; skipped rows did not.
    #[test]
    fn the_outcome_of_a_run() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1,d2,d3:offline
            1s   submit r1 attempts=1 devices=d1,d2
            1s   row r1                        => Running open
            2s   pull PC-01
            3s   finished PC-01 r1/d1 ok
            4s   finished PC-01 r1/d2 ok
            4s   row r1                        => Success complete
            5s   submit r2 devices=d1,d3
            6s   pull PC-01
            7s   finished PC-01 r2/d1 ok
            100s pull PC-01 max=0 devices=d1,d2,d3:offline
            125s tick
            125s row r2                        => Success partial
            130s submit r3 attempts=1 devices=d1
            131s pull PC-01
            132s restart
            133s finished PC-01 r3/d1 failed
            133s row r3                        => Failed failed
            140s submit r4 devices=d2
            141s cancel r4
            141s row r4                        => Cancelled cancelled
            ",
        );
    }

    /// Q6: an active run that matches no device waits for the grace, then fails.
    #[test]
    fn a_run_for_nobody_waits_and_fails() {
        check(
            "
            0s   pull PC-01 max=0 devices=d1
            1s   submit r1 pcs=PC-09         -> active r1
            2s   explain run r1              => waiting_for_devices
            120s tick                        -> offline PC-01
            121s tick                        -> over r1 Failed (no eligible device)
            200s submit r2 pcs=PC-09
            250s pull PC-09 devices=x1       => runs=r2:1 jobs=r2/x1#1
            ",
        );
    }
}
