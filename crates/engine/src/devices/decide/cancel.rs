//! Q7, Q15: a job is ended on request; what runs is told to stop and holds its lane until it ends.

use super::{Context, Decided, Decision, submit::ended_status};
use crate::{
    Mutant,
    devices::{state::State, state::TaskRef},
};
use alloc::vec::Vec;
use muster_model::{Event, JobId, JobOutcome, JobReply, JobStatus, Rejection, TaskStatus};

pub(crate) fn decide(state: &State, id: JobId, context: &Context<'_>) -> Decided<JobReply> {
    let Some(job) = state.job(id) else {
        let status = ended_status(state, id, context).ok_or(Rejection::JobUnknown)?;
        return Err(Rejection::JobEnded { status }.into());
    };
    if job.status.is_ended() {
        return Err(Rejection::JobEnded { status: job.status }.into());
    }
    let (status, at) = (JobStatus::Cancelled, context.now);
    let waiting = job.pending.iter().map(|ordinal| TaskRef { job: job.seq, ordinal: *ordinal });
    let running =
        job.shared_by.iter().flat_map(|ix| &state.workers[*ix].live).filter(|task| task.job == job.seq);
    let running = running.copied().filter(|_| state.has_bug(Mutant::CancelFreesLanes));
    let close = |task: TaskRef| Event::TaskEnded {
        task: state.task_id(task),
        status: TaskStatus::Cancelled,
        error: state.tasks[&task].error.clone(),
        result: None,
        at,
    };
    let mut events: Vec<Event> = waiting.chain(running).map(close).collect();
    let outcome = JobOutcome::Cancelled;
    events.push(Event::JobEnded { job: id, status, outcome, error: None, at });
    Ok(Decision::new(events, JobReply { job: id, status }))
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q7, Q15: cancelled at once; what waits ends, what runs is told to stop and holds its lane until its end, then ends cancelled.
    #[test]
    fn a_cancelled_run_keeps_its_lanes_until_they_end() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1,d2
            1s  submit r1
            1s  submit r2
            2s  pull PC-01                    -> granted r1/d1#1; granted r1/d2#1
            3s  finished PC-01 r1/d2 failed
            4s  cancel r1                     -> closed r1/d2 Cancelled (adb_offline); over r1 Cancelled; active r2 => r1 Cancelled
            4s  cancel r1                     => ! JobEnded { status: Cancelled }
            5s  explain device d1             => stopping
            6s  pull PC-01                    => runs=r2:2 jobs=r2/d2#1 stop=r1/d1
            7s  restart
            8s  pull PC-01                    => stop=r1/d1
            9s  finished PC-01 r1/d1 ok       -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Cancelled
            10s pull PC-01                    => jobs=r2/d1#1 finished=r1
            11s run_finished PC-01 r1 ok=0 failed=0
            12s pull PC-01 max=0              => nothing
            ",
        );
    }

    /// Q7, N2: a job of a cancelled run that was never confirmed is not handed out again, only told to stop.
    #[test]
    fn an_unconfirmed_job_of_a_cancelled_run_is_not_handed_out_again() {
        check(
            "

            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  pull PC-01                    => runs=r1:1 jobs=r1/d1#1
            3s  cancel r1
            20s pull PC-01                    => stop=r1/d1
            21s restart
            40s pull PC-01                    => stop=r1/d1
            41s finished PC-01 r1/d1 failed   -> confirmed r1/d1; ended r1/d1#1 failed; closed r1/d1 Cancelled (adb_offline)
            ",
        );
    }
}
