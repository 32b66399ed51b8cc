//! S26b: one bad frame costs one frame. A range that keeps failing is halved until the frame is alone; then it is given up.

use crate::{
    Mutant,
    frames::state::{Farm, FrameTask, Renderer},
};
use muster_model::{Millis, Name, RangeEnd, Timestamp};

/// The consequence of one more failure or loss of a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It waits for another attempt.
    Retry,
    /// It is halved at this frame.
    Split(u64),
    /// It is a single frame without attempts left.
    GiveUp,
}

/// Judges a range whose attempt ends now.
pub(crate) fn judge(farm: &Farm, task: &FrameTask, end: RangeEnd) -> Verdict {
    let settings = &farm.settings;
    let failures = task.failures + u16::from(end.is_failure());
    let losses = task.losses + u16::from(end.is_lost_worker());
    let middle = task.range.start + task.range.len() / 2;
    let is_single = task.range.len() == 1 || farm.has_bug(Mutant::NeverSplit);
    let failures_max = if is_single { settings.max_attempts } else { settings.split_after };
    match failures >= failures_max || losses >= settings.max_attempts {
        false => Verdict::Retry,
        true if is_single => Verdict::GiveUp,
        true => Verdict::Split(middle),
    }
}

/// True if a worker gets a range only after everything else, because it keeps failing it.
pub(crate) fn is_set_back(farm: &Farm, task: &FrameTask, worker: &Name) -> bool {
    task.attempt >= farm.settings.split_after && task.losers.contains(worker)
}

/// True if a range is kept from a worker that failed it, because another one may take it.
pub(crate) fn is_kept_from(farm: &Farm, task: &FrameTask, worker: &Name, now: Timestamp) -> bool {
    task.losers.contains(worker)
        && task.avoids_until.is_some_and(|until| until > now)
        && has_other_worker(farm, task)
}

/// True if a worker could take a range that has neither failed nor lost it yet.
fn has_other_worker(farm: &Farm, task: &FrameTask) -> bool {
    let could = |renderer: &Renderer| renderer.state.may_work() && renderer.is_heard();
    farm.renderers.iter().any(|(name, renderer)| could(renderer) && !task.losers.contains(name))
}

/// Time that a range waits for a worker that has not failed it.
pub(crate) const AVOIDANCE: Millis = Millis::from_secs(10);
