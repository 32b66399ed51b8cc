//! N2: a job handed out and never confirmed is handed out again, the same attempt, to the same worker.

use crate::state::{State, TaskRef, WorkerIx};
use muster_model::Timestamp;

/// The tasks to hand out again, longest unseen first.
pub(crate) fn due(state: &State, ix: WorkerIx, now: Timestamp) -> impl Iterator<Item = TaskRef> {
    let shown_before = now - state.settings.redeliver_after;
    let unconfirmed = state.workers[ix].unconfirmed.iter();
    unconfirmed
        .take_while(move |(shown, _)| *shown <= shown_before)
        .map(|(_, task)| *task)
}

/// When the next one is due.
pub(crate) fn next_due(state: &State, ix: WorkerIx) -> Option<Timestamp> {
    let (shown, _) = state.workers[ix].unconfirmed.first()?;
    Some(*shown + state.settings.redeliver_after)
}
