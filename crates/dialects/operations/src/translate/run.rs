//! Runs as outsiders see them (Q15).

use crate::wire::{Run, RunState};
use muster_model::{JobId, JobRecord, JobStatus};

/// A run and where it stands.
pub(crate) fn show_state(job: JobId, status: JobStatus) -> RunState {
    RunState { run_id: job.to_string(), status: status.as_str() }
}

/// A run in a list.
pub(crate) fn show_run(job: JobRecord) -> Run {
    let payload = job.payload.map(|payload| (payload.title, payload.workflow, payload.schedule));
    let (title, workflow, schedule) = payload.unwrap_or_default();
    Run {
        run_id: job.id.to_string(),
        status: job.status.as_str(),
        title: title.map(Into::into),
        workflow_id: workflow.into(),
        queue: job.queue.to_string(),
        max_attempts: job.max_attempts,
        created_at: job.created_at.0,
        started_at: job.started_at.map(|at| at.0),
        completed_at: job.completed_at.map(|at| at.0),
        error: job.error.map(Into::into),
        schedule_id: schedule.map(|schedule| schedule.to_string()),
    }
}
