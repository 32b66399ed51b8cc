//! Q7, Q15: a job enters its queue, or is ended on request. A repeat of a submission answers as the first did. What runs of
//! a cancelled job is told to stop and holds its lane until it ends.

use super::{Context, Decided, Decision};
use crate::{
    Mutant,
    devices::state::{State, TaskRef},
};
use alloc::{boxed::Box, vec::Vec};
use muster_model::{
    Event, Fact, JobId, JobOutcome, JobReply, JobStatus, Key, KeyRecord, Rejection, Submission,
    SubmissionKey, TaskStatus,
};

pub(crate) fn submit(state: &State, submission: Box<Submission>, context: &Context<'_>) -> Decided<JobReply> {
    if let Some(KeyRecord { job, status, .. }) = earlier(state, &submission, context)? {
        return Ok(Decision::unchanged(JobReply { job, status }));
    }
    let job = JobId::new(context.now, context.number(0));
    let reply = JobReply { job, status: JobStatus::Pending };
    Ok(Decision::new([Event::JobSubmitted { job, submission, at: context.now }], reply))
}

/// The earlier submission under the same key, unless it was too long ago.
fn earlier(
    state: &State,
    submission: &Submission,
    context: &Context<'_>,
) -> Result<Option<KeyRecord>, Rejection> {
    let known = submission.key.as_ref().and_then(|key| known_key(state, key, context));
    match known.filter(|known| context.now < known.at + state.settings.key_retention) {
        Some(known) if known.digest != submission.digest => Err(Rejection::KeyConflict),
        known => Ok(known),
    }
}

fn known_key(state: &State, key: &SubmissionKey, context: &Context<'_>) -> Option<KeyRecord> {
    if let Some(recent) = state.recent.keys.get(key) {
        return Some(recent.clone());
    }
    match context.facts.get(&Key::Submission(key.clone()))? {
        Fact::Submission(record) => Some(record.clone()),
        _ => None,
    }
}

/// Final status of a job that has left memory.
pub(crate) fn ended_status(state: &State, job: JobId, context: &Context<'_>) -> Option<JobStatus> {
    if let Some(status) = state.recent.jobs.get(&job) {
        return Some(*status);
    }
    match context.facts.get(&Key::Job(job))? {
        Fact::Job(status) => Some(*status),
        _ => None,
    }
}

pub(crate) fn cancel(state: &State, id: JobId, context: &Context<'_>) -> Decided<JobReply> {
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

    /// Q15: a repeat with the same key answers as the first, another body is refused, after a day the key is free.
    #[test]
    fn a_repeated_submission_answers_as_the_first() {
        check(
            "
            0s  submit r1 key=k               => r1 Running
            1s  submit r1 key=k               -> nothing => r1 Running
            2s  submit r1 key=k body=other    => ! KeyConflict
            3s  restart
            4s  submit r1 key=k               -> nothing => r1 Running
            5s  cancel r1
            6s  submit r1 key=k               -> nothing => r1 Running
            2d  submit r2 key=k               => r2 Running
            ",
        );
    }

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
