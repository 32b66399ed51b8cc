//! Q6, Q7: when an active job is over, and how.

use crate::state::{Job, State};
use muster_model::{Event, JobStatus, Timestamp};

/// The event that ends a job, if it is over.
///
/// A job without a single task has matched nothing: it waits for the grace, then fails. A job with
/// tasks is over when all of them ended and no target lacks one.
pub(crate) fn verdict(state: &State, job: &Job, now: Timestamp) -> Option<Event> {
    if job.status.is_ended() {
        let done = job.open.is_empty() && !job.closed;
        return done.then_some(Event::JobClosed { job: job.id });
    }
    if !job.is_active() || job.lacking > 0 || !job.open.is_empty() {
        return None;
    }
    let (status, error) = match (job.tasks, job.completed) {
        (0, _) if now < waits_until(state, job) => return None,
        (0, _) => (JobStatus::Failed, Some("no eligible device".into())),
        (_, 0) => (JobStatus::Failed, Some("no task completed".into())),
        _ => (JobStatus::Success, None),
    };
    Some(Event::JobEnded {
        job: job.id,
        status,
        error,
        at: now,
    })
}

/// Until when an active job waits for a first device.
pub(crate) fn waits_until(state: &State, job: &Job) -> Timestamp {
    job.started_at.unwrap_or(job.created_at) + state.settings.offline_grace
}
