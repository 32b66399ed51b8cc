//! Runs as outsiders see them (Q15).

use crate::wire::{Counts, ListedRun, Run, RunState};
use muster_model::{JobId, JobRecord, JobStatus};

/// A run and where it stands.
pub(crate) fn show_state(job: JobId, status: JobStatus) -> RunState {
    RunState { run_id: job.to_string(), status: status.as_str() }
}

/// A run in a list, with its rows and how many devices it is for.
pub(crate) fn show_listed(job: JobRecord, counts: Counts, targets: Option<u64>) -> ListedRun {
    let total = total_of(&job, &counts, targets);
    ListedRun { run: show_run(job), counts, total }
}

/// How many devices a run is for. Rows of devices that its scope no longer matches count as well.
pub(super) fn total_of(job: &JobRecord, counts: &Counts, targets: Option<u64>) -> Option<u64> {
    match job.status.is_ended() {
        true => Some(counts.rows()),
        false => targets.map(|targets| targets.max(counts.rows())),
    }
}

/// A run.
pub(crate) fn show_run(job: JobRecord) -> Run {
    let payload = job.payload.map(|payload| (payload.title, payload.workflow, payload.schedule));
    let (title, workflow, schedule) = payload.unwrap_or_default();
    Run {
        run_id: job.id.to_string(),
        status: job.status.as_str(),
        outcome: job.outcome.as_str(),
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
