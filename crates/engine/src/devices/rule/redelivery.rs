//! N2: a job handed out and never confirmed is handed out again, the same attempt, to the same worker.

use crate::devices::state::{State, TaskRef, WorkerIx};
use muster_model::Timestamp;

/// The tasks to hand out again, longest unseen first.
pub(crate) fn due(state: &State, ix: WorkerIx, now: Timestamp) -> impl Iterator<Item = TaskRef> {
    let shown_before = now - state.settings.redeliver_after;
    let unconfirmed = state.workers[ix].unconfirmed.iter();
    unconfirmed.take_while(move |(shown, _)| *shown <= shown_before).map(|(_, task)| *task)
}

/// Time when the next one is due.
pub(crate) fn next_due(state: &State, ix: WorkerIx) -> Option<Timestamp> {
    let (shown, _) = state.workers[ix].unconfirmed.first()?;
    Some(*shown + state.settings.redeliver_after)
}

/// Time when the next one is due after a moment.
pub(crate) fn next_due_after(state: &State, ix: WorkerIx, now: Timestamp) -> Option<Timestamp> {
    let shown_before = now - state.settings.redeliver_after;
    let last = TaskRef { job: u64::MAX, ordinal: u32::MAX };
    let (shown, _) = state.workers[ix].unconfirmed.after(&(shown_before, last))?;
    Some(*shown + state.settings.redeliver_after)
}

#[cfg(test)]
mod tests {
    use crate::devices::script::check;

    /// N2: an unconfirmed job is handed out again, same attempt, same node, and Q9's clock goes on; a confirmed one is not.
    #[test]
    fn an_unconfirmed_job_is_handed_out_again() {
        check(
            "
            0s    pull PC-01 max=0 devices=d1
            1s    submit r1
            2s    pull PC-01                  => runs=r1:1 jobs=r1/d1#1
            16s   pull PC-01                  => nothing
            17s   pull PC-01                  -> nothing => runs=r1:1 jobs=r1/d1#1
            20s   pull PC-01                  => nothing
            32s   pull PC-01                  => runs=r1:1 jobs=r1/d1#1
            33s   started PC-01 r1/d1 fence=1 -> confirmed r1/d1
            60s   pull PC-01                  => nothing
            1190s heartbeat PC-01
            1201s tick
            1202s tick                        -> ended r1/d1#1 timeout; queued r1/d1
            ",
        );
    }

    /// N2: a restart hands an unconfirmed job out again as well.
    #[test]
    fn redelivery_survives_a_restart() {
        check(
            "
            0s  pull PC-01 max=0 devices=d1
            1s  submit r1
            2s  pull PC-01                    => runs=r1:1 jobs=r1/d1#1
            3s  restart
            4s  pull PC-01                    => nothing
            18s pull PC-01                    => runs=r1:1 jobs=r1/d1#1
            ",
        );
    }
}
