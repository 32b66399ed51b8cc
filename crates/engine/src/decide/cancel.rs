//! Q7, Q15: a job is ended on request; what runs is told to stop and holds its lane until it ends.

use super::{Context, Decided, Decision, submit::ended_status};
use crate::{Mutant, state::State, state::TaskRef};
use alloc::vec::Vec;
use muster_model::{Event, JobId, JobStatus, Rejection, Reply, TaskStatus};

pub(crate) fn decide(state: &State, id: JobId, context: &Context<'_>) -> Decided {
    let Some(job) = state.job(id) else {
        let status = ended_status(state, id, context).ok_or(Rejection::JobUnknown)?;
        return Err(Rejection::JobEnded { status });
    };
    if job.status.is_ended() {
        return Err(Rejection::JobEnded { status: job.status });
    }
    let (status, at) = (JobStatus::Cancelled, context.now);
    let open = job.open.iter().map(|ordinal| TaskRef {
        job: job.seq,
        ordinal: *ordinal,
    });
    let waits = |task: &TaskRef| {
        state.tasks[task].status() == TaskStatus::Pending || state.has_bug(Mutant::CancelFreesLanes)
    };
    let close = |task: TaskRef| Event::TaskEnded {
        task: state.task_id(task),
        status: TaskStatus::Cancelled,
        error: state.tasks[&task].error.clone(),
        result: None,
        at,
    };
    let mut events: Vec<Event> = open.filter(waits).map(close).collect();
    events.push(Event::JobEnded {
        job: id,
        status,
        error: None,
        at,
    });
    Ok(Decision::new(events, Reply::Job { job: id, status }))
}
