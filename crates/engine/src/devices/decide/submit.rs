//! Q15: a job enters its queue; a repeat of a submission answers as the first did.

use super::{Context, Decided, Decision};
use crate::devices::state::State;
use alloc::boxed::Box;
use muster_model::{
    Event, Fact, JobId, JobReply, JobStatus, Key, KeyRecord, Rejection, Submission, SubmissionKey,
};

pub(crate) fn decide(state: &State, submission: Box<Submission>, context: &Context<'_>) -> Decided<JobReply> {
    if let Some(KeyRecord { job, status, .. }) = earlier(state, &submission, context)? {
        return Ok(Decision::unchanged(JobReply { job, status }));
    }
    let job = JobId::new(context.now, context.number(0));
    let reply = JobReply { job, status: JobStatus::Pending };
    Ok(Decision::new([Event::JobSubmitted { job, submission, at: context.now }], reply))
}

/// What the same key made before, unless that was too long ago.
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

/// How a job that has left memory ended.
pub(crate) fn ended_status(state: &State, job: JobId, context: &Context<'_>) -> Option<JobStatus> {
    if let Some(status) = state.recent.jobs.get(&job) {
        return Some(*status);
    }
    match context.facts.get(&Key::Job(job))? {
        Fact::Job(status) => Some(*status),
        _ => None,
    }
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
}
