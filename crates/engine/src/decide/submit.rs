//! Q15: a job enters its queue; a repeat of a submission answers as the first did.

use super::{Context, Decided, Decision};
use crate::state::State;
use alloc::{boxed::Box, vec, vec::Vec};
use muster_model::{Event, Fact, JobId, JobStatus, Key, Rejection, Reply, Submission, SubmissionKey};

pub(crate) fn decide(state: &State, submission: Box<Submission>, context: &Context<'_>) -> Decided {
    if let Some(job) = earlier(state, &submission, context)? {
        let status = status_of(state, job, context);
        return Ok(Decision::new(Vec::new(), Reply::Job { job, status }));
    }
    let job = JobId::new(context.now, context.number(0));
    let reply = Reply::Job { job, status: JobStatus::Pending };
    Ok(Decision::new(vec![Event::JobSubmitted { job, submission, at: context.now }], reply))
}

/// The job that the same key made before, unless that was too long ago.
fn earlier(
    state: &State,
    submission: &Submission,
    context: &Context<'_>,
) -> Result<Option<JobId>, Rejection> {
    let Some((digest, job, at)) = submission.key.as_ref().and_then(|key| known_key(state, key, context))
    else {
        return Ok(None);
    };
    if context.now >= at + state.settings.key_retention {
        return Ok(None);
    }
    if digest != submission.digest {
        return Err(Rejection::KeyConflict);
    }
    Ok(Some(job))
}

fn known_key(
    state: &State,
    key: &SubmissionKey,
    context: &Context<'_>,
) -> Option<(muster_model::Digest, JobId, muster_model::Timestamp)> {
    if let Some(recent) = state.recent.keys.get(key) {
        return Some(*recent);
    }
    match context.facts.get(&Key::Submission(key.clone()))? {
        Fact::Submission(digest, job, at) => Some((*digest, *job, *at)),
        _ => None,
    }
}

fn status_of(state: &State, job: JobId, context: &Context<'_>) -> JobStatus {
    let live = state.job(job).map(|job| job.status);
    live.or_else(|| ended_status(state, job, context)).unwrap_or(JobStatus::Pending)
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
    use crate::script::check;

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
            2d  submit r2 key=k               => r2 Running
            ",
        );
    }
}
