//! S8: when a worker has been lost or has failed too often, and when it is the task that is to blame.

use crate::frames::state::{Farm, FrameTask, Renderer};
use muster_model::{Name, RangeEnd, Timestamp};

/// Whether the end of an assignment speaks against its worker: not from the third different worker on that lost or
/// failed the same range.
pub(crate) fn blames_worker(farm: &Farm, task: &FrameTask, end: RangeEnd) -> bool {
    end.counts_against_worker() && losers_with(task, &task.worker) < farm.settings.poison_workers as usize
}

/// Whether one more failure uses up the attempts of a task.
pub(crate) fn uses_up(farm: &Farm, task: &FrameTask, end: RangeEnd) -> bool {
    end.counts_against_task() && task.failures + 1 >= farm.settings.max_attempts
}

/// Whether one more loss or failure now puts a worker into quarantine.
pub(crate) fn is_too_much(farm: &Farm, renderer: &Renderer, now: Timestamp) -> bool {
    let window = now - farm.settings.quarantine_window;
    let counted = renderer.failures.iter().filter(|at| **at > window).count();
    counted + 1 >= farm.settings.quarantine_after as usize && !farm.has_bug(crate::Mutant::DiagnosisForgotten)
}

fn losers_with(task: &FrameTask, worker: &Name) -> usize {
    task.losers.len() + usize::from(!task.losers.contains(worker))
}
