//! Q6: a lane away for too long is closed in the active jobs, so that one dead worker cannot hold a queue.

use crate::state::{Job, LaneIx, RowState, State};
use alloc::boxed::Box;
use muster_model::{Event, TaskId, TaskStatus, Timestamp};

const SKIPPED: &str = "skipped: device offline";

/// The event that closes a lane long away in a job, unless it runs, has ended, or was no target.
pub(crate) fn skip(state: &State, job: &Job, ix: LaneIx, ordinal: u32, at: Timestamp) -> Option<Event> {
    let lane = &state.lanes[ix];
    if !job.is_active() || !state.long_away.contains(&ix) {
        return None;
    }
    match lane.row(job.seq) {
        None if super::eligible::is_target(state, job, lane) => Some(Event::TaskSkipped {
            task: TaskId { job: job.id, ordinal },
            lane: lane.name.clone(),
            worker: state.workers[lane.worker].name.clone(),
            at,
        }),
        Some(row) if row.state == RowState::Pending => Some(Event::TaskEnded {
            task: state.task_id(row.task),
            status: TaskStatus::Cancelled,
            error: Some(skip_text()),
            result: None,
            at,
        }),
        _ => None,
    }
}

/// What stands in `task_devices.error` of a task closed this way.
pub(crate) fn skip_text() -> Box<str> {
    SKIPPED.into()
}
