//! Q2: each queue serves one job, the oldest unfinished.

use crate::{
    Mutant,
    devices::state::{Queue, State},
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
        .map(move |seq| Event::JobActivated { job: state.jobs[&seq].id, at: now })
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// Q2: the oldest unfinished job of a queue is active, and only it; the next follows at once (Q7).
    #[test]
    fn one_job_at_a_time_the_oldest() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            1s  submit r1                    -> active r1 => r1 Running
            2s  submit r2                    -> nothing                             => r2 Pending
            3s  submit r3                    -> nothing                             => r3 Pending
            4s  pull PC-01                   -> granted r1/d1#1
            5s  finished PC-01 r1/d1 ok      -> confirmed r1/d1; ended r1/d1#1 ok; closed r1/d1 Completed; over r1 Success; active r2
            6s  cancel r3                    -> over r3 Cancelled                   => r3 Cancelled
            7s  cancel r2                    -> over r2 Cancelled
            8s  submit r4                    -> active r4
            ",
        );
    }

    /// Q2: queues have an active job each and take a PC's slots in turn.
    #[test]
    fn queues_take_the_slots_of_a_pc_in_turn() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1..d6
            1s  submit a queue=first         -> active a
            1s  submit b queue=second        -> active b
            1s  submit c queue=second        -> nothing
            2s  pull PC-01 max=3             => runs=a:6,b:6 jobs=a/d1#1,b/d2#1,a/d3#1
            3s  pull PC-01 max=3             => jobs=b/d4#1,a/d5#1,b/d6#1
            4s  tick                         -> nothing
            ",
        );
    }
}
