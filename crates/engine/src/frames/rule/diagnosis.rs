//! S8, S26b: when a worker has been lost or has failed too often, and when the range is at fault instead.

use crate::frames::state::{Farm, FrameTask, Renderer};
use muster_model::{Name, RangeEnd, Timestamp};

/// True if the end of an assignment counts against its worker.
///
/// From the third different worker on that lost or failed a range, the range is at fault. A worker that completes other
/// ranges is not blamed twice for the same one. And when a range was halved, a worker that failed it is not blamed for the
/// first failure of a half: only both halves together tell whether the worker or a frame is at fault.
pub(crate) fn blames_worker(farm: &Farm, task: &FrameTask, end: RangeEnd, now: Timestamp) -> bool {
    let is_poison = losers_with(task, &task.worker) >= farm.settings.poison_workers as usize;
    let is_known_failure = end.is_failure() && task.losers.contains(&task.worker);
    let does_well =
        farm.renderers.get(&task.worker).is_some_and(|worker| completes_ranges(farm, worker, now));
    // A half begins with no failures and no losses, but knows who failed the whole.
    let is_fresh_half = task.failures == 0 && task.losses == 0;
    let excused =
        is_known_failure && (does_well || is_fresh_half) && !farm.has_bug(crate::Mutant::RangeBlamesWorker);
    end.counts_against_worker() && !is_poison && !excused
}

/// Whether one more loss or failure now puts a worker into quarantine.
pub(crate) fn is_too_much(farm: &Farm, renderer: &Renderer, now: Timestamp) -> bool {
    let window = now - farm.settings.quarantine_window;
    let counted = renderer.failures.iter().chain(&renderer.losses).filter(|at| **at > window).count();
    counted + 1 >= farm.settings.quarantine_after as usize && !farm.has_bug(crate::Mutant::DiagnosisForgotten)
}

/// True if a worker has completed a range within the window of the diagnosis.
fn completes_ranges(farm: &Farm, renderer: &Renderer, now: Timestamp) -> bool {
    renderer.last_completed.is_some_and(|at| at > now - farm.settings.quarantine_window)
}

fn losers_with(task: &FrameTask, worker: &Name) -> usize {
    task.losers.len() + usize::from(!task.losers.contains(worker))
}
