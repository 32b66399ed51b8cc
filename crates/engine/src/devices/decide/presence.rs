//! N1b, N15: whoever speaks is there; who was never heard of is enrolled.

use crate::devices::state::State;
use alloc::{vec, vec::Vec};
use muster_model::{Event, Name, Timestamp};

/// The events that a sign of life causes.
pub(crate) fn appear(state: &State, worker: &Name, at: Timestamp) -> Vec<Event> {
    match state.workers.ix(worker) {
        None => vec![Event::WorkerEnrolled { worker: worker.clone(), at }],
        Some(ix) if !state.workers[ix].online => vec![Event::WorkerOnline { worker: worker.clone(), at }],
        Some(_) => Vec::new(),
    }
}
