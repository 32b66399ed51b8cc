//! Q2: each queue serves one job, the oldest unfinished.

use crate::{
    Mutant,
    state::{Queue, State},
};
use muster_model::{Event, Timestamp};

/// The jobs that become active because their queue serves none.
pub(crate) fn activations(state: &State, now: Timestamp) -> impl Iterator<Item = Event> {
    let next = |queue: &Queue| match queue.active {
        Some(_) => None,
        None if state.has_bug(Mutant::YoungestFirst) => queue.waiting.last().copied(),
        None => queue.waiting.first().copied(),
    };
    state
        .queues
        .values()
        .filter_map(next)
        .map(move |seq| Event::JobActivated {
            job: state.jobs[&seq].id,
            at: now,
        })
}
